"""Points of a grid on several processes or machines: joblib with its own workers (loky) or those of Dask.

A wave holds the next point of every column. Its tasks receive the warm start of the point below and return their own;
the data are sent once (as mapped files on this machine, or scattered by Dask) and kept by the worker for later tasks.
joblib's own mapping is off: it would wait a second after each wave for the workers to release its files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from libsvmx._core.machine import machine
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.memory import load_numpy
from libsvmx._core.packages import need
from libsvmx._core.stopping import Token
from libsvmx._train.problem import Problem
from libsvmx._train.validation.grid import Key, Outcome
from libsvmx._train.validation.grid_search import Column, Plan, evaluate
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import ParameterError, StoppedEarly, SvmxError

if TYPE_CHECKING:
    import numpy.typing as npt

    # arrays of a matrix, the targets, and row weights; or files of them
    Parts = Sequence[npt.NDArray[Any] | str | None]

# Seconds between two checks for a stop; to wait for workers after the time limit; and of a limit that has passed.
BETWEEN_QUESTIONS = 0.05
GRACE = 0.1
LEAST_SECONDS = 1e-9
UNFINISHED = "the search is not finished"
# in a worker process: the problem of its last search
_resident: dict[str, Problem] = {}


def resident(name: str, parts: Sequence[npt.NDArray[Any] | str | None]) -> Problem:
    """The problem called ``name``, built from its parts or their files on the first call in this process."""
    problem = _resident.get(name)
    if problem is None:
        import numpy as np

        arrays = (np.load(part, mmap_mode="r") if isinstance(part, str) else part for part in parts if part is not None)
        # arrays received over a network may be unaligned
        a, b, c, y, *w = (np.require(part, requirements=["C", "A"]) for part in arrays)
        problem = Problem(CsrMatrix(a, b, c, copy=False), y.data, sample_weight=w[0].data if w else None)
        _resident.clear()
        _resident[name] = problem
    return problem


def files_of(parts: Parts, folder: str, ask: Callable[[], object]) -> list[str | None]:
    """Write the arrays to files in ``folder``; ``ask`` is called before each."""
    import numpy as np

    files = [None if part is None else os.path.join(folder, f"{k}.npy") for k, part in enumerate(parts)]
    for file, part in zip(files, parts, strict=True):
        if file is not None and part is not None:
            ask()
            np.save(file, part, allow_pickle=False)
    return files


def follow(parent: int, every: float = 1.0) -> None:
    """Exit when the parent process is gone: loky's workers would live on for minutes."""
    import threading
    import time

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def evaluate_there(
    number: int,
    plan: Plan,
    key: Key,
    warm_start: object,
    end: End,
    name: str,
    *parts: npt.NDArray[Any] | str | None,
) -> tuple[int, Outcome | SolveStatus]:
    """``evaluate`` in a worker, or the status that ended it; ``number`` is that of the column."""
    limits = end.token()
    try:
        problem = resident(name, parts)
        return number, limits.look() or evaluate(plan, problem, key, warm_start, limits=limits)
    except StoppedEarly as stop:
        return number, stop.status


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes started meanwhile ignore Ctrl-C, which a terminal sends to all; their parent ends them."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with suppress(ImportError):  # starting it later would unblock the signal
        from joblib.externals.loky.backend import resource_tracker

        resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def left_quietly(outcomes: Any) -> Iterator[None]:
    """Close a generator of joblib without its warning about unfinished tasks."""
    import warnings

    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


@dataclass(frozen=True, slots=True)
class End:
    """When a search must stop, for its workers.

    Attributes
    ----------
    at : float           time of day in seconds, as machines share no other clock; 0: no limit
    flag : str           a file on this machine, which exists once the observer has stopped the search
    """

    at: float
    flag: str

    def token(self) -> Token:
        """A Token of this process for the same limits."""
        seconds = max(self.at - machine.time_of_day(), LEAST_SECONDS) if self.at > 0 else 0.0
        return Token(seconds, lambda: os.path.exists(self.flag))

    def ask(self) -> None:
        """Raise StoppedEarly if the search must stop."""
        status = self.token().look()
        if status is not None:
            raise StoppedEarly(status, UNFINISHED)

    def patience(self) -> float | None:
        """Seconds to wait for a worker of this machine, which may still be starting; None: no limit."""
        return max(self.at - machine.time_of_day(), 0.0) + GRACE if self.at > 0 else None


@contextmanager
def ending(limits: Token) -> Iterator[End]:
    """The End for ``limits``. A thread asks the observer, since this one waits for the workers."""
    import threading
    from tempfile import TemporaryDirectory

    errors: list[BaseException] = []
    over = threading.Event()

    def ask() -> None:
        try:
            while not limits.interrupted():
                if over.wait(BETWEEN_QUESTIONS):
                    return
        except BaseException as error:
            errors.append(error)
        with open(flag, "wb"):
            pass

    # Windows cannot delete files that a worker has mapped
    with TemporaryDirectory(prefix="svmx-grid-", ignore_cleanup_errors=True) as folder:
        flag = os.path.join(folder, "stop")
        left = limits.deadline - machine.monotonic() if limits.deadline > 0 else 0.0
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        try:
            yield End(machine.time_of_day() + left if limits.deadline > 0 else 0.0, flag)
        finally:
            over.set()
            thread.join()
            if errors:
                raise errors[0]


class Workers:
    """Workers(n, dask=None): a Pool of ``n`` processes, or of the workers of a Dask cluster. A context manager.

    Parameters
    ----------
    n : int                         processes on this machine; with Dask all its workers are used
    dask : str, Client or None      address of a scheduler, or a client

    Raises
    ------
    ParameterError                  n < 1
    SvmxError                       joblib or distributed is missing; on entering, no cluster is reachable
    """

    def __init__(self, n: int, dask: Any = None) -> None:
        if n < 1:
            raise ParameterError(f"the number of workers must be at least 1, not {n}")
        self.n, self.dask = n, dask
        self.client: Any = None
        if dask is None:
            need("joblib", "grid", "several workers need")
        else:
            need("joblib", "dask", "a Dask cluster needs")
            need("distributed", "dask", "a Dask cluster needs")

    def __enter__(self) -> Workers:
        load_numpy()
        self.client = self.dask
        if isinstance(self.dask, str):
            from distributed import Client

            try:
                self.client = Client(self.dask, set_as_default=False)  # type: ignore[no-untyped-call]
            except (OSError, ValueError, TypeError) as error:
                raise SvmxError(f"no Dask scheduler can be reached at {self.dask}: {error}") from error
        if self.client is not None and not self.client.ncores():
            self.__exit__()
            raise SvmxError(f"the Dask cluster at {self.dask} has no workers")
        return self

    def __exit__(self, *exception: object) -> None:
        if isinstance(self.dask, str):
            self.client.close()

    def run(self, plan: Plan, problem: Problem, columns: list[Column], limits: Token) -> Iterator[Outcome]:
        """``Pool.run``. ``problem`` holds all rows of its matrix, in order.

        Another thread asks the observer; on a cluster, points that workers have begun are finished.
        """
        import numpy as np

        matrix = problem.matrix
        parts = (
            np.asarray(matrix.indptr),
            np.asarray(matrix.indices),
            np.asarray(matrix.values),
            np.asarray(problem.targets),
            None if problem.sample_weight is None else np.asarray(problem.sample_weight),
        )
        with ending(limits) as end:
            yield from (self._local if self.client is None else self._cluster)(plan, columns, parts, end)

    def _local(self, plan: Plan, columns: list[Column], parts: Parts, end: End) -> Iterator[Outcome]:
        from concurrent.futures.process import BrokenProcessPool

        for module in ("multiprocessing.util", "joblib", "joblib.externals.loky.reusable_executor"):
            end.ask()  # each import, file and start of a worker may take a second on a busy machine
            import_module(module)
        from joblib import parallel_config

        config = parallel_config("loky", n_jobs=self.n, max_nbytes=None)
        parts = files_of(parts, os.path.dirname(end.flag), end.ask)
        options = {"initializer": follow, "initargs": (os.getpid(),), "timeout": end.patience()}
        try:
            yield from self._waves(plan, columns, parts, end, config, options)
        except BrokenProcessPool as error:
            raise SvmxError("a worker process died, perhaps for want of memory; take fewer workers") from error

    def _cluster(self, plan: Plan, columns: list[Column], parts: Parts, end: End) -> Iterator[Outcome]:
        from distributed.scheduler import KilledWorker
        from joblib import parallel_config

        try:
            config = parallel_config("dask", client=self.client, scatter=list(parts))
            yield from self._waves(plan, columns, parts, end, config, {})
        except KilledWorker as error:
            raise SvmxError(f"a worker of the Dask cluster died: {error}") from error
        except ModuleNotFoundError as error:
            raise SvmxError(f"the workers of the Dask cluster need libsvmx and its packages: {error}") from error

    @staticmethod
    def _waves(
        plan: Plan,
        columns: list[Column],
        parts: Parts,
        end: End,
        config: AbstractContextManager[Any],
        options: dict[str, Any],
    ) -> Iterator[Outcome]:
        from multiprocessing import TimeoutError as WorkersTimeout

        from joblib import Parallel, delayed

        name = uuid4().hex
        warm_starts = [column.warm_start for column in columns]
        task, ended = delayed(evaluate_there), None
        with config:
            parallel = Parallel(return_as="generator_unordered", batch_size=1, **options)
            patient = parallel.timeout is not None
            for depth in range(max((len(column.todo) for column in columns), default=0)):
                wave = (
                    task(number, plan, column.todo[depth], warm_starts[number], end, name, *parts)
                    for number, column in enumerate(columns)
                    if depth < len(column.todo)
                )
                ended = end.token().look()
                if ended is not None:
                    break
                try:
                    with deaf_to_interrupts():
                        outcomes = parallel(wave)
                    with left_quietly(outcomes):
                        for number, outcome in outcomes:  # keep finished points, even after the end
                            if isinstance(outcome, SolveStatus):
                                ended = outcome
                            else:
                                warm_starts[number] = outcome.warm_start
                                yield outcome
                            if patient:  # from one outcome to the next
                                parallel.timeout = end.patience()
                except (TimeoutError, WorkersTimeout):  # joblib has ended the workers
                    ended = SolveStatus.TIME_LIMIT
                if ended is not None:
                    break
        if ended is not None:
            raise StoppedEarly(ended, UNFINISHED)
