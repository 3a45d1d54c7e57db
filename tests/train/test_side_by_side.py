"""Solves on several threads: results and reports come in sequential order, however the threads run."""

import _thread
import random
import signal
import threading

import numpy as np
import pytest
from support import data
from support.ahead import let_go_ahead
from support.data import filled
from support.injected import failing_once, interrupted_after, put_around
from support.policies import KernelPolicy
from support.threads import started_by

import libsvmx
import libsvmx._core.threads
from libsvmx import Observer, Parameter, StoppedEarly
from libsvmx._core.process import HAS_THREADS
from libsvmx._core.stopping import Stopped
from libsvmx._train import side_by_side
from libsvmx._train.folds import Rand
from libsvmx._train.limits import ask, control_of
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import param_of
from libsvmx._train.training import cross_validate_problem
from libsvmx._train.validation.given_folds import GivenFold, predicted_folds
from libsvmx.enums import SolveStatus
from libsvmx.io.transcript import TrainingReport

pytestmark = pytest.mark.skipif(not HAS_THREADS, reason="built without threads")


class Hearing(Observer):
    """The reports, and the thread of each."""

    def __init__(self):
        self.heard, self.threads = [], set()

    def total_sv(self, n_sv):
        self.heard.append(n_sv)
        self.threads.add(threading.get_ident())

    def mark(self, mark):
        self.heard.append(mark)


# No queue, and threads for any amount of work.
BY_THREADS = KernelPolicy(queue=False, work_for_threads=0.0)


@pytest.fixture
def few_ahead(monkeypatch):
    """Some work is left when the caller checks, however fast the threads are."""
    let_go_ahead(4, monkeypatch)


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_ends_gives_the_order_of_the_numbers(seed):
    n, drawn = 7, random.Random(seed)
    threads, ends = drawn.randint(2, n), [threading.Event() for _ in range(n)]
    begun = threading.Semaphore(0)

    def solve(k, observer):
        observer.mark(f"{k} begins")
        begun.release()
        ends[k].wait()
        observer.total_sv(k)
        return -k

    def release():
        waiting = list(range(threads))
        for _ in range(threads):
            begun.acquire()
        for following in range(threads, threads + n):
            ends[waiting.pop(drawn.randrange(len(waiting)))].set()
            if following < n:
                begun.acquire()
                waiting.append(following)

    releasing = threading.Thread(target=release)
    releasing.start()
    observer = Hearing()
    found = list(side_by_side.side_by_side(solve, n, threads, observer))
    releasing.join()
    assert found == [-k for k in range(n)]
    assert observer.heard == [told for k in range(n) for told in (f"{k} begins", k)]
    assert observer.threads == {threading.get_ident()}


@pytest.mark.parametrize("k", [0, 2, 4])
def test_an_error_of_a_solve_is_raised_in_order_and_ends_the_others(k):
    def solve(at, observer):
        if at == k:
            raise ZeroDivisionError(at)
        while at > k:  # those after it are running
            ask(observer)
        return at

    found, ended = [], side_by_side.side_by_side(solve, 5, 3, Observer())
    with pytest.raises(ZeroDivisionError):
        for result in ended:
            found.append(result)
    assert found == list(range(k))


def test_an_observer_that_raises_ends_all():
    class Raising(Observer):
        def should_stop(self):
            raise ZeroDivisionError

    def solve(k, observer):
        while True:
            ask(observer)

    with pytest.raises(ZeroDivisionError):
        list(side_by_side.side_by_side(solve, 3, 2, Raising()))


def until_the_end(ended, long):
    """A solve that runs until it is stopped, if its number is one of these."""

    def solve(k, observer):
        try:
            while k in long:
                ask(observer)
        finally:
            ended.append(k)

    return solve


def test_a_result_without_a_waiting_caller():
    begun, ended = threading.Barrier(3), []
    solve = until_the_end(ended, range(1, 3))
    results = side_by_side.side_by_side(lambda k, told: (begun.wait(), solve(k, told)), 3, 3, Observer())
    next(results)
    results.close()
    assert sorted(ended) == [0, 1, 2]


def test_a_solve_without_a_waiting_caller_is_not_finished():
    """The end of a solve, such as the last gradient, is computed where its result is used, not after Ctrl-C."""
    begun, finished = threading.Semaphore(0), []

    def solve(k, observer):
        control = control_of(Parameter(), observer)
        begun.release()
        try:
            while control.look() is None:
                pass
        except Stopped:
            pass  # told at once; some solvers run to their end
        control.note(1 << 40)
        finished.append(k)

    class Raising(Observer):
        def should_stop(self):
            begun.acquire()
            raise ZeroDivisionError

    class Stopping(Observer):
        def should_stop(self):
            return begun.acquire()

    with pytest.raises(ZeroDivisionError):
        list(side_by_side.side_by_side(solve, 2, 2, Raising()))
    assert finished == []
    list(side_by_side.side_by_side(solve, 2, 2, Stopping()))
    assert sorted(finished) == [0, 1]


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize(("owner", "what"), [(side_by_side, "Recording"), (libsvmx._core.threads, "end_of")])
def test_out_of_memory_in_a_thread_is_reported(owner, what, ahead, monkeypatch):
    """Also if the other threads wait for room."""
    failing_once(monkeypatch, owner, what, MemoryError)
    with pytest.raises(MemoryError):
        list(side_by_side.side_by_side(lambda k, _: k, 9, 2, Observer(), ahead))


def test_ctrl_c_while_the_others_are_awaited_after_a_failure():
    begun = threading.Event()

    def solve(k, observer):
        if k == 0:
            begun.wait()
            raise ZeroDivisionError
        begun.set()
        try:
            while True:
                ask(observer)
        finally:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side.side_by_side(solve, 2, 2, Observer()))


def test_a_signal_as_threads_begin_ends_them(monkeypatch):
    ended, before = [], set(threading.enumerate())
    interrupted_after(monkeypatch, _thread, "start_new_thread")
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side.side_by_side(until_the_end(ended, range(5)), 5, 2, Observer()))
    assert len(ended) <= 2
    assert before.issuperset(threading.enumerate())


@pytest.mark.parametrize("given", [0, 1])
def test_without_threads_to_be_had_solves_come_one_after_the_other(given, monkeypatch):
    begun = []

    def refused(start, *thread):
        if len(begun) == given:
            raise RuntimeError("can't start new thread")
        begun.append(start(*thread))

    put_around(monkeypatch, _thread, "start_new_thread", refused)
    observer = Hearing()
    found = list(side_by_side.side_by_side(lambda k, told: (told.total_sv(k), k)[1], 4, 3, observer))
    assert found == observer.heard == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("n", "threads", "expected"),
    [(5, 2, [1, 1, 1, 1, 2]), (10, 16, [1] * 10), (10, 8, [1] * 8 + [4, 4]), (4, 4, [1] * 4)],
)
def test_no_thread_is_idle_and_none_is_counted_twice(n, threads, expected):
    assert [param_of(Parameter(), k, n, threads).threads for k in range(n)] == expected


def validated(rows, threads, **options):
    """The results and reports of a cross-validation of (X, y), and its number of threads."""
    parts = []
    options = {"policy": BY_THREADS, "observer": TrainingReport(parts.append), "threads": threads, **options}
    found, n = started_by(libsvmx.cross_validate, *rows, 7, **options)
    return (found.predictions.tobytes(), np.asarray(found.decision_values).tobytes(), "".join(parts)), n


@pytest.mark.parametrize("svm_type", [0, 4])
def test_random_numbers_are_drawn_in_the_order_of_one_thread(svm_type):
    """Calls of LIBSVM's interface continue the random stream of the one before."""
    matrix, targets = data.load("heart_scale")
    left = []
    for threads in (1, 3):
        rand, param = Rand(1), Parameter(svm_type, gamma=0.1, probability=True, threads=threads, policy=BY_THREADS)
        cross_validate_problem(Problem(matrix, filled("d", targets)), param, 7, rand, Observer())
        left.append(rand.draw())
    assert left[0] == left[1] != Rand(1).draw()


def test_a_stopped_training_has_pairs_that_were_not_begun(few_ahead):
    """Several at a time; the first has a model in any case."""
    for threads in (1, 3):
        observer = TrainingReport(len)
        observer.should_stop = lambda: True
        options = {"gamma": 1.0, "probability": True, "threads": threads, "policy": BY_THREADS}
        with pytest.warns(libsvmx.ConvergenceWarning):
            model = libsvmx.train(*data.load("vowel.scale.xz"), observer=observer, **options)
        assert not model.param.probability and len(model.offsets) == 55
        assert SolveStatus.INTERRUPTED in model.statuses


@pytest.mark.parametrize("weights", [False, True])
def test_several_classes_and_weights(weights, exhaustive):
    rows = data.load("vowel.scale.xz", None if exhaustive else 250)
    options = {"C": 8.0, "gamma": 1.0, "sample_weight": [k % 3 for k in range(len(rows[1]))] if weights else None}
    for probability in (False, True):
        one, three = (validated(rows, threads, probability=probability, **options) for threads in (1, 3))
        assert one[0] == three[0]
        assert one[1] == 0 < three[1]


def test_given_folds_do_not_depend_on_threads():
    matrix, targets = data.load("heart_scale")
    whole, n = Problem(matrix, filled("d", targets)), len(targets)

    def found(threads):
        given = [
            (
                GivenFold(filled("i", [k for k in range(n) if k % 5 != f]), filled("i", range(f, n, 5))),
                Parameter(C=2.0**f, gamma=0.1 + 0.1 * f, threads=threads, policy=BY_THREADS),
            )
            for f in range(5)
        ]
        predicted, started = started_by(predicted_folds, whole, given, Observer())
        assert started == {1: 0, 2: 2, 8: 5}[threads]
        return [bytes(labels) for labels in predicted]

    assert found(1) == found(2) == found(8)


@pytest.mark.parametrize("threads", [1, 3])
def test_finished_rows_are_kept_when_leave_one_out_is_stopped(threads, few_ahead):
    class Ends(Observer):
        done = 0

        def counted(self, what, done, total):
            self.done = done

        def should_stop(self):
            return self.done >= 20

    X, y = data.load("heart_scale")
    observer = Ends()
    options = {"C": 4.0, "seeder": "near", "threads": threads, "observer": observer, "policy": BY_THREADS}
    with pytest.raises(StoppedEarly) as stopped:
        libsvmx.leave_one_out(X, y, **options)
    predicted = stopped.value.partial.predictions
    known = [k for k in range(len(y)) if predicted[k] == predicted[k]]
    assert known == list(range(observer.done)) and 20 <= len(known) < len(y)


@pytest.mark.parametrize("threads", [2, 3])
def test_finished_folds_are_reported_when_the_call_ends(threads, few_ahead):
    """Those before the first unfinished fold; an answer holds for the rest of the call."""

    class Ends(Hearing):
        def should_stop(self):
            return len(self.heard) >= 3

    observer = Ends()
    observer.mark = Observer().mark
    options = {"C": 4.0, "threads": threads, "observer": observer, "policy": BY_THREADS}
    with pytest.raises(StoppedEarly) as stopped:
        libsvmx.cross_validate(*data.load("heart_scale"), 60, **options)
    assert stopped.value.status == SolveStatus.INTERRUPTED
    assert 3 <= len(observer.heard) < 60
