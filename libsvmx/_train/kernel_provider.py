"""Kernels of subsets of a problem's rows, and the kernel values shared by the solves of a training or validation."""

from __future__ import annotations

from _thread import allocate_lock
from itertools import pairwise
from math import inf

from libsvmx._core.arrays import inverse, take_float64, take_int32
from libsvmx._core.machine import machine
from libsvmx._core.matrix import CsrMatrix, count_nonzeros
from libsvmx._core.process import ThreadPool
from libsvmx._core.threads import processes_at_work, thread_count
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._train.limits import control_of
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import KernelType, SvmType

if TYPE_CHECKING:
    from libsvmx._core.stopping import Control
    from libsvmx._kernels.sharedrows import SharedRows
    from libsvmx._train.feature_map import FeatureMap
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue

MOST_WORKERS = 1 << 16  # of a queue; -m may be any number


class KernelProvider:
    """KernelProvider(problem, param, groups=None, repeated=False)

    Parameters
    ----------
    problem : Problem        all the rows
    param : Parameter        kernel, memory and policy; other fields may differ between solves
    groups : (list of int, buffer of int32)     first position of each class in an order of the rows, and the end;
                                                the order. Solves over pairs of classes share rows within a class
    repeated : bool          whether several solves are over the same pair of classes, or over nearly all rows

    Attributes
    ----------
    whole : Kernel                    of all the rows, made on first use
    prepared : bool                   whether ``shared`` is decided
    shared : SharedRows or None
    gram : SharedRows or None         all kernel values, made for the first queue that uses them
    asymmetric : bool                 whether given values have turned out to be: no queue
    classes : SharedRows or None      those of pairs of classes, likewise
    feature_map : FeatureMap or None  of solver crsvm, instead of kernel rows
    budget_bytes : float              for the row stores of the solves
    at_once : int                     concurrent solves, each with its share of these
    """

    whole: Kernel | None = None
    prepared = False
    shared: SharedRows | None = None
    gram: SharedRows | None = None
    asymmetric = False
    classes: SharedRows | None = None
    feature_map: FeatureMap | None = None
    at_once = 1

    def __init__(
        self, problem: Problem, param: Parameter, groups: tuple[list[int], Buffer] | None = None, repeated: bool = False
    ):
        self.request, self.policy, self.lock = (problem, param, groups, repeated), param.policy, allocate_lock()
        on_demand = problem.matrix.source is not None
        self.budget_bytes = share_of_source(problem.matrix, param) if on_demand else param.cache_bytes

    def prepare(self) -> Kernel:
        """Make the kernel of all the rows, and decide what is shared, once."""
        problem, _, groups, repeated = self.request
        with self.lock:
            whole = self.whole or self.make_whole()
            if not self.prepared:
                self.shared = self.worth_sharing(whole, groups[0] if groups else [0, len(problem)], repeated)
                if self.shared:
                    self.budget_bytes -= self.shared.most_bytes
                self.prepared = True
        return whole

    def if_shared(self) -> KernelProvider | None:
        """Itself, if it has shared rows or features, which trainings with other targets can use; else each of them is
        faster with a provider that knows its classes."""
        needs_features = self.request[1].solver.needs_features
        if not needs_features:
            self.prepare()
        return self if needs_features or self.shared else None

    def at_once_of(self, n_solves: int, threads: int) -> int:
        """Number of threads, at most ``threads``, for n solves over nearly all rows, one for each solve. The solves
        divide the memory from now on; with one thread the division stays, as other threads may be solving."""
        problem, param = self.request[:2]
        if threads == 1:
            return 1
        if problem.matrix.source is not None:  # the rows asked of a Python function must not depend on threads
            return 1
        work = n_solves * float(len(problem)) ** 2
        pays = work > self.policy.work_for_threads and not param.solver.needs_features
        self.at_once = min(n_solves, threads) if pays else 1
        return threads if self.at_once > 1 else 1

    def make_whole(self) -> Kernel:
        """The kernel of all the rows, in the order of ``groups`` if there are any."""
        problem, param, groups, _ = self.request
        self.rows = take_int32(problem.rows, groups[1]) if groups else problem.rows
        self.number = inverse(self.rows, problem.features.n_rows)
        self.whole = Kernel(problem.features, self.rows, *param.kernel_function)
        return self.whole

    def queue(
        self,
        param: Parameter,
        observer: Observer,
        n_solves: int,
        weighted: bool,
        predicted_often: bool = False,
        trial: bool = False,
    ) -> SolveQueue | None:
        """An empty queue for n solves, if their kernel values fit and the solver is one that a queue has; else None.

        ``weighted``: the solves use the sample weights. ``predicted_often``: each row is held out several times.
        ``trial``: the n solves are pairs of classes; those that SMO may not end well are queued, too, and tried by
        ``queue.trial``.
        """
        problem, policy, tried = self.request[0], self.policy, None
        if not policy.queue or self.asymmetric or problem.matrix.source is not None or param.is_hard_margin:
            return None
        if not param.solver.follows_libsvm:
            n_features = count_nonzeros(problem.features)[1] if param.kernel_type == KernelType.LINEAR else 0
            kind, regression = param.kernel_type, param.svm_type.is_regression
            most = param.solver.queued_up_to(kind, self.most_rows(), n_features, regression)
            largest = max((self.whole or self.make_whole()).diagonal, default=0.0) if most else inf
            weight = 1.0 if problem.sample_weight is None else max(problem.sample_weight, default=0.0)
            if largest * max(param.costs, default=1.0) * weight > most:
                trial = trial and param.max_iter <= 0 and param.svm_type == SvmType.C_SVC and not param.probability
                if trial and 1 < n_solves <= policy.pairs_tried:
                    tried = param.solver.trial(self.whole or self.make_whole(), self.most_rows())
                if tried is None:
                    return None
        n = len(problem.rows)
        n_bytes, few = 4.0 * n**2, n_solves < policy.min_solves or n > policy.rows_per_solve * n_solves
        slots = n_bytes * 2 if param.svm_type.is_regression else n_bytes  # of one thread: kernel rows of its solve
        room = policy.memory_share * self.budget_bytes
        if few or n_bytes > policy.max_gram_bytes or (self.gram is None and n_bytes + slots > room):
            kernel_values = self.values_by_class(param)
            slots = kernel_values.thread_bytes * 2.0 if kernel_values else 0.0
        else:
            kernel_values = self.values_of_all(param, observer)
        if kernel_values is None:
            return None
        import libsvmx._train.queue.solve_queue as solve_queue  # as in ``train_classifier``

        rows, weights = self.rows, problem.sample_weight if weighted else None
        if weights is not None:
            weights = take_float64(weights, take_int32(inverse(problem.rows, problem.matrix.n_rows), rows))
        given = param.kernel_type == KernelType.PRECOMPUTED
        left, table = self.budget_bytes, 2 * n_bytes
        tabulated = predicted_often and not given and kernel_values is self.gram
        tabulated = tabulated and table + slots <= policy.memory_share * left
        most_workers = int(min((left - table if tabulated else left) // slots, MOST_WORKERS))

        def matrix_of() -> CsrMatrix:  # a copy of all the data
            return problem.matrix.take(rows)

        queue = solve_queue.SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers)
        if tabulated:
            queue.tabulate()
        if tried:
            queue.try_out(tried)
        return queue

    def most_rows(self) -> int:
        """Maximum number of rows of a solve: all, or those of the two largest classes."""
        problem, _, groups, _ = self.request
        if not groups:
            return len(problem)
        starts = groups[0]
        return sum(sorted(end - begin for begin, end in pairwise(starts))[-2:])

    def values_of_all(self, param: Parameter, observer: Observer) -> SharedRows | None:
        """All kernel values; None if given ones are asymmetric."""
        import libsvmx._kernels.sharedrows as sharedrows  # as in ``train_classifier``

        with self.lock:
            if self.gram is None:
                whole = self.whole or self.make_whole()
                gram = sharedrows.SharedRows(whole)
                threads = 1 if 4.0 * whole.n**2 <= self.policy.small_bytes else thread_count(param.threads)
                gram.keep_own(ThreadPool(threads), observer.limits or control_of(param, observer))
                self.asymmetric = bool(whole.given) and not gram.is_symmetric()
                if self.asymmetric:
                    return None
                self.gram = gram
                self.budget_bytes -= 4.0 * whole.n**2
        return self.gram

    def values_by_class(self, param: Parameter) -> SharedRows | None:
        """Kernel values by pair of classes, if there are several pairs, rows are cheap, and the values of a pair fit.

        None otherwise, and for given values."""
        (problem, _, groups, _), policy = self.request, self.policy
        if not groups or len(groups[0]) < 4 or param.kernel_type == KernelType.PRECOMPUTED:
            return None
        if problem.features.nnz > policy.max_row_nonzeros * problem.features.n_rows:
            return None
        from libsvmx._kernels.sharedrows import SharedRows, bytes_of_pair

        starts = groups[0]
        with self.lock:
            if self.classes is None:
                room, of_pair = policy.memory_share * self.budget_bytes, bytes_of_pair(starts)
                if 2 * of_pair > room:
                    return None
                of_threads = 2.0 * thread_count(param.threads) * of_pair
                classes = SharedRows(self.whole or self.make_whole(), max(room - of_threads, 0.0), starts, across=False)
                if classes.for_threads:
                    self.budget_bytes -= classes.most_bytes
                self.classes = classes  # only once complete: an exception may end the call before
        return self.classes if self.classes.for_threads else None

    def members(self, problem: Problem) -> Buffer:
        """Positions in ``whole`` of the rows of a problem, a subset of it: buffer of int32."""
        return take_int32(self.number, problem.rows)

    def worth_sharing(self, whole: Kernel, starts: list[int], repeated: bool) -> SharedRows | None:
        """Shared rows of all values, or of those within classes, if they are expensive and fit; else None."""
        if whole.kind == KernelType.PRECOMPUTED or whole.binary:
            return None
        if not repeated and len(starts) <= 3:  # a single solve
            return None
        from libsvmx._kernels.sharedrows import SharedRows, all_bytes

        policy, room = self.policy, self.policy.memory_share * self.budget_bytes
        choices = []
        if repeated:  # with two classes, all rows are one segment
            choices.append((starts if len(starts) > 3 else [0, whole.n], True))
        if len(starts) > 3:
            choices.append((starts, False))
        for segments, across in choices:
            needed = all_bytes(segments, across)
            if policy.required_share * needed <= room:
                shared = SharedRows(whole, room, segments, across)
                return shared if needed <= policy.small_bytes or shared.block_ns > policy.expensive_ns else None
        return None

    def features(self, observer: Observer, control: Control) -> FeatureMap:
        """Explicit features of all the rows, made once, under the ``control`` of the first solve that uses them."""
        if self.feature_map is None:
            from libsvmx._core.memory import load_blas

            load_blas()
            from libsvmx._train.feature_map import FeatureMap  # loads NumPy and SciPy, which other solvers do without

            problem, param = self.request[:2]
            self.feature_map = FeatureMap(problem, param, observer, control)
        return self.feature_map

    def of(self, problem: Problem) -> tuple[Kernel, float]:
        """The kernel of the rows of ``problem``, a subset of the whole, and the bytes for its row store."""
        return self.of_rows(problem.rows)

    def of_rows(self, rows: Buffer) -> tuple[Kernel, float]:
        """``of`` by row numbers of the matrix."""
        whole = self.whole if self.whole and self.prepared else self.prepare()
        members = take_int32(self.number, rows)
        share = self.budget_bytes / self.at_once
        return self.shared.part(members) if self.shared else whole.part(members), share


def share_of_source(matrix: CsrMatrix, param: Parameter) -> float:
    """Limit the bytes of kept rows of a kernel on demand, once for a matrix; returns those left for a solve.

    Computing a row again in Python costs far more than keeping it, so there is more room than ``cache_bytes`` if memory
    is free, which the worker processes of joblib, say, divide. All rows are kept if they fit with room for a solve, in
    float unless in double they fit ``cache_bytes``; else half of the room is for rows.
    """
    source, policy, cache = matrix.source, param.policy, param.cache_bytes
    if source.left_bytes is None:
        in_float = 8.0 * matrix.n_rows**2 > policy.memory_share * cache
        free = policy.share_of_free * (machine.free_bytes() or 0) / processes_at_work()
        room = max(cache, free) if in_float else cache
        needed = (4.0 if in_float else 8.0) * matrix.n_rows**2
        share = needed if needed <= policy.memory_share * room else room / 2
        source.keep_up_to(share, in_float)
        source.left_bytes = min(room - share, cache) if source.keeps_all else room - share
    left: float = source.left_bytes
    return left
