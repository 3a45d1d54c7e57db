"""Small solves in a queue: the same bytes in any order, with any number of threads, and refusals of the queue."""

import gc
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from libsvmx._core.arrays import ramp
from libsvmx._kernels.sharedrows import SharedRows
from libsvmx._train.probability import fit_sigmoid
from support import data
from support.data import filled
from support.policies import ALWAYS_SHARED, BY_CLASSES, IN_TURN, KernelPolicy

import libsvmx
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.process import ThreadPool
from libsvmx._core.stopping import NOBODY, Stopped
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._train.folds import Rand, group_classes
from libsvmx._train.gamma import default_gamma
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import predict_labels
from libsvmx._train.problem import Problem
from libsvmx._train.queue.solve_queue import SolveQueue
from libsvmx._train.training import shared_kernels, train_problem
from libsvmx._train.validation.given_folds import GivenFold, predicted_folds
from libsvmx.api.arrays import from_dense
from libsvmx.api.arrays import precomputed as as_given
from libsvmx.enums import SolveStatus
from libsvmx.io.modelfile import model_text
from libsvmx.io.transcript import TrainingReport


def problem_of(name):
    matrix, targets = data.load(name)
    return Problem(matrix, filled("d", targets)), default_gamma(Parameter(C=8.0), matrix.max_index)


def trained(rows, **settings):
    """The model of (X, y) as its file, and svm-train's output."""
    parts = []
    model = libsvmx.train(*rows, observer=TrainingReport(parts.append), **settings)
    return model_text(model), "".join(parts)


@pytest.fixture(params=[KernelPolicy(), BY_CLASSES], ids=["all values", "by pairs of classes"])
def fitting(request):
    """How many of the kernel values fit in memory."""
    return request.param


@pytest.mark.parametrize("kernel", range(4))
def test_sparse_rows_and_rows_of_bits_by_pairs_of_classes(kernel):
    """dna: 0 and 1 in 180 features; here only the first, so that rows are cheap."""
    draw = random.Random(5)
    rows = [[(j, 1.0 if i % 2 else 0.5) for j in sorted(draw.sample(range(1, 120), 9))] for i in range(240)]
    for values in (rows, [[(j, 1.0) for j, _ in row] for row in rows]):
        X, y = data.from_rows(values), [float(i % 4) for i in range(240)]
        options = {"kernel_type": kernel, "gamma": 0.2, "coef0": 0.5, "C": 4.0, "probability": True}
        assert trained((X, y), policy=BY_CLASSES, **options) == trained((X, y), policy=IN_TURN, **options)
        problem, param = Problem(X, filled("d", y)), Parameter(**options)
        kernels = KernelProvider(problem, param, tuple(group_classes(problem.targets)[1:]))
        assert kernels.values_by_class(param)


def test_given_kernels_have_no_values_by_class():
    matrix, targets = data.load("glass.scale")
    given = data.precomputed(matrix)
    kernel = Kernel(given, ramp(len(targets)), 4, 3, 1.0, 0.0)
    with pytest.raises(ValueError, match="given kernel"):
        SharedRows(kernel, 0.0, [0, 70, 146, len(targets)], across=False)


SOLVED = {
    "C-SVC": {"C": 100},
    "nu-SVC": {"svm_type": 1, "nu": 0.3},
    "one-class": {"svm_type": 2, "nu": 0.3},
    "SVR": {"svm_type": 3, "C": 10},
    "probability": {"probability": True},
}


# labels are drawn, so that r of nu-SVC is about 0
@pytest.mark.filterwarnings("ignore:rounding hides what is left:libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("name", SOLVED)
def test_a_kernel_matrix_is_solved_as_its_rows(name):
    """Its values are those of the linear kernel, without rounding."""
    rng, eps, options = np.random.default_rng(0), 1e-6, SOLVED[name]
    X = rng.integers(-3, 4, (90, 4)) / 2
    y = np.round(X[:, 0] + rng.normal(size=90)) if name == "SVR" else rng.integers(0, 3, 90)
    both = (X, {"kernel_type": "linear", **options}), (X @ X.T, {"kernel_type": "precomputed", **options})
    plain, same = (libsvmx.cross_validate(A, y, 10, **more) for A, more in both)
    assert plain.predictions.tobytes() == same.predictions.tobytes()
    if name == "probability":
        return
    assert plain.decision_values.tobytes() == same.decision_values.tobytes()
    plain, same = (libsvmx.leave_one_out(A, y, seeder="near", eps=eps, **more) for A, more in both)
    np.testing.assert_allclose(same.decision_values, plain.decision_values, rtol=0, atol=20 * eps)
    plain, same = (libsvmx.cross_validate(A, y, 12, seeder="near", eps=eps, **more) for A, more in both)
    np.testing.assert_allclose(same.decision_values, plain.decision_values, rtol=0, atol=20 * eps)


@pytest.mark.parametrize(("off", "queued"), [(0.0, True), (1e-10, True), (1e-7, False), (1e-3, False)])
def test_a_kernel_matrix_must_be_symmetric_in_a_queue(off, queued):
    """In float: there columns are read as rows. Predictions are by the values that are given."""
    matrix, targets = data.load("glass.scale")
    X = matrix.toarray()
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32).astype(float)
    K *= 1 + off * np.triu(np.random.default_rng(0).choice([-1, 1], size=K.shape), 1)
    problem, param = Problem(as_given(K), filled("d", targets)), Parameter(kernel_type=4)
    assert (shared_kernels(problem, param).queue(param, Observer(), 15, weighted=False) is not None) == queued
    options = {"kernel_type": 4, "C": 30.0}
    one, other = (
        trained((K, targets), probability=True, policy=policy, **options) for policy in (KernelPolicy(), IN_TURN)
    )
    assert one == other
    one, other = (
        libsvmx.cross_validate(K, targets, 5, policy=policy, **options).decision_values
        for policy in (KernelPolicy(), IN_TURN)
    )
    assert one.tobytes() == other.tobytes()


def test_rows_of_any_class_are_not_decided_by_the_values_of_two():
    matrix, targets = data.load("glass.scale")
    problem, param = Problem(matrix, filled("d", targets)), Parameter(gamma=0.1, policy=BY_CLASSES)
    kernels = KernelProvider(problem, param, tuple(group_classes(problem.targets)[1:]))
    queue = kernels.queue(param, Observer(), 100, weighted=False)
    queue.decide_by_floats()
    with pytest.raises(ValueError, match="only the kernel values of pairs"):
        queue.add(filled("i", range(100)), 70, 8.0, 8.0, filled("i", [200]))


def test_wide_sparse_rows_of_several_classes_are_solved_in_turn():
    """Their products with many targets are summed in memory that threads would share."""
    draw = random.Random(7)
    rows = [[(j, draw.random()) for j in sorted(draw.sample(range(1, 6000), 3))] for _ in range(3600)]
    problem = Problem(data.from_rows(rows), filled("d", [float(i % 3) for i in range(3600)]))
    param = Parameter(gamma=0.1, max_iter=5, cache_size=500.0, policy=BY_CLASSES)
    kernels = KernelProvider(problem, param, tuple(group_classes(problem.targets)[1:]))
    assert kernels.values_by_class(param) is None
    assert kernels.queue(param, Observer(), 18, weighted=False) is None


def test_classes_whose_values_do_not_fit_are_not_laid_out():
    """Each training of a cross-validation checks again."""
    matrix, targets = data.load("wine.scale")
    problem, param = Problem(matrix, filled("d", targets)), Parameter(gamma=0.1, cache_size=0.01)
    kernels = KernelProvider(problem, param, tuple(group_classes(problem.targets)[1:]))
    assert kernels.values_by_class(param) is None
    assert kernels.whole is None


@pytest.mark.parametrize("policy", [KernelPolicy(), ALWAYS_SHARED], ids=["queued", "shared"])
@pytest.mark.parametrize("options", [{}, {"probability": True}, {"svm_type": 3, "probability": True}])
def test_there_may_be_more_memory_than_there_are_numbers(options, policy):
    rows = data.load("iris.scale")
    found = [trained(rows, cache_size=m, policy=policy, **options) for m in (100.0, 1e9, 1e300)]
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("threads", [1, 2])
def test_values_within_classes_are_kept_while_there_is_room(threads):
    """None of them, some, and all: 11 classes of 48 rows take 0.1 MB, and those of two for each thread 0.07."""
    rows, options = data.load("vowel.scale.xz"), {"gamma": 0.5, "C": 10.0, "threads": threads, "probability": True}
    expected = trained(rows, policy=IN_TURN, **options)
    for cache_size in (0.1, 0.2, 0.25, 0.3, 100.0):
        assert trained(rows, policy=BY_CLASSES, cache_size=cache_size, **options) == expected


def queue_of(problem, param, observer=None):
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    gram = SharedRows(kernel)
    gram.keep_own(ThreadPool(2), NOBODY)
    return SolveQueue(gram, lambda: problem.matrix, None, param, observer or Observer(), 8)


def random_parts(n, count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        rows = draw.sample(range(n), draw.randint(20, n - 5))
        yield filled("i", rows), draw.randint(1, len(rows) - 1)


def test_the_order_of_the_queue_does_not_matter():
    problem, param = problem_of("heart_scale")
    parts = list(random_parts(len(problem), 60, 1))
    found = []
    for seed in range(3):
        queue, order = queue_of(problem, param), list(range(len(parts)))
        random.Random(seed).shuffle(order)
        number = {k: queue.add(parts[k][0], parts[k][1], 8.0, 2.0) for k in order}
        queue.run(4)
        found.append([bytes(queue.coefficients(number[k])) for k in range(len(parts))])
    assert found[0] == found[1] == found[2]
    assert any(found[0])


def test_two_queues_run_at_a_time():
    problem, param = problem_of("heart_scale")
    parts = list(random_parts(len(problem), 60, 2))
    found = [[], [], []]

    def work(out):
        queue = queue_of(problem, param)
        numbers = [queue.add(rows, n, 8.0, 8.0) for rows, n in parts]
        queue.run(2)
        out.extend(bytes(queue.coefficients(t)) for t in numbers)

    threads = [threading.Thread(target=work, args=(out,)) for out in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(parts)


def test_decision_values_of_rows_held_out_are_those_of_the_model():
    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param)
    rows, held = filled("i", range(100, 270)), filled("i", range(100))
    solve = queue.add(rows, 80, 8.0, 8.0)
    values = queue.add(rows, 80, 8.0, 8.0, held)
    queue.add_fold(rows, [0, 80, 170], [solve], held)
    queue.run(1)
    assert bytes(queue.values(values)) == bytes(queue.fold_values(0))
    assert np.ptp(np.asarray(queue.values(values))) > 0.1


def test_an_observer_that_raises_ends_the_queue():
    class Failing(Observer):
        def should_stop(self):
            raise KeyboardInterrupt

    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param, Failing())
    for rows, n in random_parts(len(problem), 40, 3):
        queue.add(rows, n, 8.0, 8.0)
    with pytest.raises(KeyboardInterrupt):
        queue.run(3)


def test_a_stopped_queue_keeps_finished_solves():
    class Stopping(Observer):
        asked = 0

        def should_stop(self):
            self.asked += 1
            return self.asked > 5

    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param, Stopping())
    numbers = [queue.add(rows, n, 1000.0, 1000.0) for rows, n in random_parts(len(problem), 200, 4)]
    queue.run(1)
    assert queue.stopped == SolveStatus.INTERRUPTED
    begun = [queue.was_begun(t) for t in numbers]
    assert begun[0]
    assert not begun[-1]
    assert [queue.tell(t, Observer()).status for t in (numbers[0], numbers[-1])] == [
        SolveStatus.CONVERGED,
        SolveStatus.INTERRUPTED,
    ]


class Counting(Observer):
    """Says stop at the n-th check; counts checks."""

    def __init__(self, n=0):
        self.n, self.asked = n, 0

    def should_stop(self):
        self.asked += 1
        return self.asked == self.n


def wide_problem():
    """Rows of 2,000 features: decision values are most of the work."""
    draw = random.Random(1)
    matrix = data.from_rows([(j, draw.random()) for j in range(1, 2001)] for _ in range(120))
    return Problem(matrix, filled("d", [1.0, -1.0] * 60)), Parameter(C=8.0, gamma=1e-3)


@pytest.mark.parametrize("as_fold", [True, False])
def test_decision_values_can_be_stopped(as_fold):
    problem, param = wide_problem()
    rows, held = filled("i", range(60)), filled("i", range(60, 120))

    def run(observer):
        queue = queue_of(problem, param, observer)
        solve = queue.add(rows, 30, 8.0, 8.0, None if as_fold else held)
        if as_fold:
            queue.add_fold(rows, [0, 30, 60], [solve], held)
        queue.run(1)
        assert queue.went_well(solve)
        return queue

    through, bare = Counting(), Counting()
    assert run(through).stopped is None
    queue = queue_of(problem, param, bare)
    queue.add(rows, 30, 8.0, 8.0)
    queue.run(1)
    assert through.asked > bare.asked + 10
    queue = run(Counting(through.asked - 5))
    assert queue.stopped == SolveStatus.INTERRUPTED
    if as_fold:
        assert not queue.fold_is_done(0)


@pytest.mark.parametrize("threads", [1, 3])
def test_finished_folds_are_kept_when_a_queue_is_stopped(threads):
    problem, param = problem_of("heart_scale")
    held = filled("i", range(40))
    rows = filled("i", range(40, 270))

    def run(observer):
        queue = queue_of(problem, param, observer)
        for _ in range(60):
            queue.add_fold(rows, [0, 115, 230], [queue.add(rows, 115, 1000.0, 1000.0)], held)
        queue.run(threads)
        return queue, [bytes(queue.fold_values(f)) for f in range(60) if queue.fold_is_done(f)]

    (_, every), (queue, some) = run(Counting()), run(Counting(40))
    assert queue.stopped
    assert len(every) == 60
    assert 0 < len(some) < 60
    assert {*some} == {*every}


def test_a_sigmoid_without_a_fold_of_both_classes():
    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param)
    queue.add_folds(filled("i", [0, 1]), 1, 1.0, 1.0, filled("i", [0, 1]), [0, 1, 2])
    assert queue.n_tasks == 0
    assert not queue.sigmoid_is_done(0)
    queue.run(1)
    assert queue.sigmoid_is_done(0)
    assert queue.sigmoid(0) == fit_sigmoid(filled("d", [-1.0, 1.0]), filled("d", [1.0, -1.0]))


def test_rows_are_shared_after_a_queue_too():
    problem, param = problem_of("heart_scale")
    kernels = [KernelProvider(problem, param, repeated=True) for _ in range(2)]
    assert kernels[0].queue(param, Observer(), 100, weighted=False)
    for provider in kernels:
        provider.of(problem)
    assert kernels[1].shared
    assert kernels[0].shared


def test_numbers_out_of_range_are_refused():
    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param)
    with pytest.raises(IndexError, match="row 270 of 270"):
        queue.add(filled("i", [0, 270]), 1, 1.0, 1.0)
    with pytest.raises(IndexError, match="solve 5 of"):
        queue.was_begun(5)
    with pytest.raises(IndexError, match="fold 0 of 0"):
        queue.fold_is_done(0)
    with pytest.raises(IndexError, match="sigmoid 0 of 0"):
        queue.sigmoid_is_done(0)
    rows = filled("i", range(20))
    solve = queue.add(rows, 10, 1.0, 1.0)
    queue.add_fold(rows, [0, 10, 20], [solve], rows)
    with pytest.raises(ValueError, match=f"solve {solve} is of another fold"):
        queue.add_fold(rows, [0, 10, 20], [solve], rows)


@pytest.mark.parametrize(("probability", "times"), [(False, 0), (True, 1)])
def test_rows_are_copied_for_predictions_alone(probability, times, fitting):
    """In the order of the queue, once for all folds; never without a queue."""
    copied, (m, y) = [], data.load("vowel.scale.xz")

    class Watched(CsrMatrix):
        def take(self, rows):
            copied.append(len(rows))
            return super().take(rows)

    X = Watched(m.indptr, m.indices, m.values, n_columns=m.n_columns, first_index=m.first_index)
    libsvmx.train(X, y, gamma=0.5, probability=True, policy=IN_TURN)
    libsvmx.cross_validate(X, y, 3, gamma=0.5, policy=IN_TURN)
    assert copied.count(len(y)) == 0
    libsvmx.train(X, y, gamma=0.5, probability=probability, policy=fitting)
    assert copied.count(len(y)) == times
    if not probability:
        libsvmx.cross_validate(X, y, 3, gamma=0.5, policy=fitting)
        assert copied.count(len(y)) == 1


def test_after_an_error_no_solve_is_begun():
    """Not even to find that no time is left: for all solves in the queue that would take a while."""

    class Failing(Observer):
        def should_stop(self):
            raise RuntimeError("no more")

    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param, Failing())
    numbers = [queue.add(rows, n, 8.0, 8.0) for rows, n in random_parts(len(problem), 2000, 6)]
    with pytest.raises(RuntimeError, match="no more"):
        queue.run(2)
    assert sum(queue.tell(t, Observer()).seconds > 0 for t in numbers) < 1000


def test_a_solve_has_classes_or_targets_of_its_own():
    matrix, targets = data.load("iris.scale")
    queue = KernelProvider(Problem(matrix, filled("d", targets)), Parameter(gamma=1.0)).queue(
        Parameter(gamma=1.0), Observer(), 18, weighted=False
    )
    rows = filled("i", range(50))
    for n_positive, targets in ((-1, None), (20, filled("d", [1.0] * 50))):
        with pytest.raises(ValueError, match="either classes or targets"):
            queue.add(rows, n_positive, 0.0, 0.0, targets=targets)
    with pytest.raises(ValueError, match="49 targets for 50 rows"):
        queue.add(rows, -1, 0.0, 0.0, targets=filled("d", [1.0] * 49))


def test_a_queue_leaves_nothing_to_the_garbage_collector():
    """All kernel values would stay for a while, and each small training would pay for a collection."""
    targets = np.repeat([0.0, 1.0, 2.0], 20)
    problem = Problem(from_dense(np.random.RandomState(1).normal(size=(60, 3))), targets.data)
    train_problem(problem, Parameter(gamma=0.5), Rand(1), Observer())
    gc.collect()
    gc.disable()
    try:
        train_problem(problem, Parameter(gamma=0.5), Rand(1), Observer())
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("gammas", [(0.5, 0.5, 0.5), (0.5, 0.25, 0.5)], ids=["one gamma", "two"])
@pytest.mark.parametrize("policy", [BY_CLASSES, KernelPolicy()])
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_given_folds_are_predicted_as_by_models_of_their_own(least, policy, gammas):
    random = np.random.RandomState(3)
    X, targets = random.normal(size=(90, 3)), random.randint(0, 4, 90).astype(float)
    weights = random.choice([least, 1.0, 2.0], 90)
    problem = Problem(from_dense(X), targets.data, sample_weight=weights.data)
    given = []
    for f, gamma in enumerate(gammas):
        tests = np.arange(f, 90, 3, dtype=np.int32)
        rows = np.setdiff1d(np.arange(90), tests).astype(np.int32)
        fold = GivenFold(rows.data, tests.data, {1: f or 2 * least})
        given.append((fold, Parameter(C=4.0, gamma=gamma, threads=1, policy=policy)))
    for (fold, param), predicted in zip(given, predicted_folds(problem, given, Observer()), strict=True):
        own = replace(param, weights=tuple(fold.class_weights.items()))
        model = train_problem(problem.take(fold.rest), own, Rand(1), Observer())
        assert bytes(predicted) == bytes(predict_labels(model, problem.matrix, fold.tests))


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("glass.scale", {"weights": {2: 0.0, 3: 2.0}}),
        ("heart_scale", {"svm_type": "nu_svc", "nu": 0.2}),
        ("mpg", {"svm_type": "epsilon_svr"}),
        ("heart_scale", {"svm_type": "one_class", "nu": 0.2}),
    ],
)
def test_folds_of_rows_of_weight_0(name, options, probability):
    """As outside of a queue."""
    matrix, y = data.load(name)
    weights = np.random.default_rng(5).choice([0.0, 1.0, 1.0, 2.5], len(y))
    options = {**options, "C": 4.0, "probability": probability, "sample_weight": weights, "threads": 1}
    one, other = (
        libsvmx.cross_validate(matrix.toarray(), y, 5, policy=own, **options) for own in (KernelPolicy(), IN_TURN)
    )
    assert one.predictions.tobytes() == other.predictions.tobytes()
    assert one.decision_values.tobytes() == other.decision_values.tobytes()
    assert [fold.iterations for fold in one.folds] == [fold.iterations for fold in other.folds]


@pytest.mark.parametrize("step", [1, 2])
def test_given_folds_stopped(step):
    """Three classes in a queue, or two of them."""
    problem, param = problem_of("iris.scale")
    given = [(GivenFold(filled("i", range(0, 50 * (4 - step), 1)), problem.rows[100:]), param)]
    with pytest.raises(Stopped):
        predicted_folds(problem, given, Counting(1))
