"""Solves by several threads: results and what is told come in the order of one after the other, however threads run."""

import random
import threading

import numpy as np
import pytest
from support import data
from support.ahead import let_go_ahead
from support.data import filled

import libsvmx
from libsvmx._core.rand import Rand
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.thread_pool import HAS_THREADS
from libsvmx._solvers.decomposition.settings import Chunked
from libsvmx._train import kernel_provider, side_by_side
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.limits import ask, limited
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import param_of
from libsvmx._train.training import cross_validate_problem, default_gamma, train_problem
from libsvmx._train.validation import given_folds
from libsvmx._train.validation.given_folds import GivenFold, predicted_folds
from libsvmx._train.validation.leave_one_out import leave_one_out, replaces_n_folds
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import StoppedEarly
from libsvmx.io.modelfile import model_text
from libsvmx.io.transcript import TrainingReport

pytestmark = pytest.mark.skipif(not HAS_THREADS, reason="built without threads")


class Hearing(Observer):
    """What is told, by which thread."""

    def __init__(self):
        self.heard, self.threads = [], set()

    def total_sv(self, n_sv):
        self.heard.append(n_sv)
        self.threads.add(threading.get_ident())

    def mark(self, mark):
        self.heard.append(mark)


@pytest.fixture
def problem():
    matrix, targets = data.load("heart_scale")
    return Problem(matrix, filled("d", targets)), default_gamma(Parameter(C=4.0), matrix.max_index)


@pytest.fixture
def by_threads(monkeypatch):
    """No queue, and threads for any work; how many there were each time."""
    start, counts = side_by_side.Workers.start, []
    monkeypatch.setattr(
        side_by_side.Workers, "start", lambda workers, threads: (counts.append(threads), start(workers, threads))[1]
    )
    monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
    monkeypatch.setattr(kernel_provider, "WORK_FOR_THREADS", 0.0)
    return counts


@pytest.fixture
def few_ahead(by_threads, monkeypatch):
    """As by_threads, with work left when the caller looks, however soon the threads are."""
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
def test_what_a_solve_raises_comes_in_its_place_and_ends_the_others(k):
    def solve(at, observer):
        if at == k:
            raise ZeroDivisionError(at)
        while at > k:  # those after it are in the middle of their work
            ask(observer)
        return at

    found, ended = [], side_by_side.side_by_side(solve, 5, 3, Observer())
    with pytest.raises(ZeroDivisionError):
        for result in ended:
            found.append(result)
    assert found == list(range(k))


def test_an_observer_that_raises_ends_all(monkeypatch):
    monkeypatch.setattr(side_by_side, "PATIENCE", 0.001)

    class Raising(Observer):
        def should_stop(self):
            raise ZeroDivisionError

    def solve(k, observer):
        while True:
            ask(observer)

    with pytest.raises(ZeroDivisionError):
        list(side_by_side.side_by_side(solve, 3, 2, Raising()))


def until_the_end(ended, long):
    """A solve that goes on until it is stopped, if its number is one of these."""

    def solve(k, observer):
        try:
            while k in long:
                ask(observer)
        finally:
            ended.append(k)

    return solve


def test_a_result_that_nobody_waits_for():
    ended = []
    results = side_by_side.side_by_side(until_the_end(ended, range(1, 3)), 3, 3, Observer())
    next(results)
    results.close()
    assert sorted(ended) == [0, 1, 2]


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("what", ["Recording", "Finished"])
def test_memory_that_is_out_in_a_thread_is_told(what, ahead, monkeypatch):
    """Also where the other threads wait for room."""
    times, made = [], getattr(side_by_side, what)

    def no_memory(*given):
        times.append(given)
        if len(times) == 1:
            raise MemoryError
        return made(*given)

    monkeypatch.setattr(side_by_side, "PATIENCE", 0.001)
    monkeypatch.setattr(side_by_side, what, no_memory)
    with pytest.raises(MemoryError):
        list(side_by_side.side_by_side(lambda k, _: k, 9, 2, Observer(), ahead))


def test_a_signal_as_threads_begin_ends_them(monkeypatch):
    start, ended = side_by_side.Workers.start, []

    def interrupted(workers, threads):
        start(workers, threads)
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    monkeypatch.setattr(side_by_side.Workers, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side.side_by_side(until_the_end(ended, range(5)), 5, 2, Observer()))
    assert len(ended) <= 2
    assert before.issuperset(threading.enumerate())


@pytest.mark.parametrize("given", [0, 1])
def test_without_threads_to_be_had_solves_come_one_after_the_other(given, monkeypatch):
    start, begun = threading.Thread.start, []

    def refused(thread):
        if len(begun) == given:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    observer = Hearing()
    found = list(side_by_side.side_by_side(lambda k, told: (told.total_sv(k), k)[1], 4, 3, observer))
    assert found == observer.heard == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("n", "threads", "expected"),
    [(5, 2, [1, 1, 1, 1, 2]), (10, 16, [1] * 10), (10, 8, [1] * 8 + [4, 4]), (4, 4, [1] * 4)],
)
def test_no_thread_is_idle_and_none_is_counted_twice(n, threads, expected):
    assert [param_of(Parameter(), k, n, threads).threads for k in range(n)] == expected


def validated(problem, param, **settings):
    parts = []
    rand = Rand(1)
    predicted = cross_validate_problem(problem, replace(param, **settings), 7, rand, TrainingReport(parts.append))
    return bytes(predicted), "".join(parts), rand.draw()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"probability": True},
        {"svm_type": 1, "nu": 0.05},
        {"svm_type": 2},
        {"svm_type": 3},
        {"svm_type": 4, "probability": True},
        {"kernel_type": 0, "shrinking": False},
        {"cache_size": 0.05},
    ],
)
@pytest.mark.parametrize("expensive", [0.0, 1e9])
def test_folds_do_not_depend_on_threads(options, expensive, problem, by_threads, monkeypatch):
    monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", expensive)
    expected = validated(*problem, threads=1, **options)
    monkeypatch.setattr(kernel_provider, "WORK_FOR_THREADS", float("inf"))
    assert validated(*problem, threads=1, **options) == expected
    monkeypatch.setattr(kernel_provider, "WORK_FOR_THREADS", 0.0)
    for threads in (2, 3, 8):
        assert validated(*problem, threads=threads, **options) == expected
    if not (options.get("svm_type") == 4 and options.get("probability")):  # drawn as they are trained
        assert {2, 3, 7} <= set(by_threads)


@pytest.mark.parametrize(
    "options",
    [
        {"probability": True},
        {"probability": True, "svm_type": 1, "nu": 0.05},
        {"probability": True, "solver": Chunked(working_set=20)},
        {},
    ],
)
@pytest.mark.parametrize("name", ["heart_scale", "wine.scale", "vowel.scale.xz"])
def test_pairs_and_inner_folds_do_not_depend_on_threads(name, options, by_threads, monkeypatch):
    matrix, targets = data.load(name)
    w = filled("d", [k % 4 for k in range(len(targets))])
    param = default_gamma(Parameter(**options), matrix.max_index)

    def trained(threads, weights):
        parts = []
        problem = Problem(matrix, filled("d", targets), sample_weight=w if weights else None)
        model = train_problem(problem, replace(param, threads=threads), Rand(1), TrainingReport(parts.append))
        return model_text(model), "".join(parts)

    for weights in (False, True):
        assert trained(1, weights) == trained(2, weights) == trained(8, weights)
    solves = len(set(targets)) * (len(set(targets)) - 1) // 2 * (6 if options else 1)
    assert by_threads == ([2, min(8, solves)] * 2 if solves > 1 else [])


def test_a_training_that_is_ended_has_pairs_that_were_not_begun(few_ahead):
    """Of several at a time; the first has a model in any case."""

    class Ends(Observer):
        def should_stop(self):
            return True

    matrix, targets = data.load("vowel.scale.xz")
    problem, parts = Problem(matrix, filled("d", targets)), []
    for threads in (1, 3):
        observer = TrainingReport(parts.append)
        observer.should_stop = Ends().should_stop
        param = Parameter(gamma=1.0, probability=True, threads=threads)
        model = train_problem(problem, param, Rand(1), observer)
        assert not model.param.probability and len(model.offsets) == 55
        assert SolveStatus.INTERRUPTED in model.statuses


@pytest.mark.parametrize("weights", [False, True])
def test_several_classes_and_weights(weights, by_threads):
    matrix, targets = data.load("vowel.scale.xz")
    w = filled("d", [k % 3 for k in range(len(targets))]) if weights else None
    problem, param = Problem(matrix, filled("d", targets), sample_weight=w), Parameter(C=8.0, gamma=1.0)
    for options in ({}, {"probability": True}):
        assert validated(problem, param, threads=3, **options) == validated(problem, param, threads=1, **options)


def dense_rows(matrix):
    X = np.zeros((matrix.n_rows, matrix.max_index + 1))
    for i in range(matrix.n_rows):
        for k, value in matrix.row(i):
            X[i, k] = value
    return X


SEEDERS = ["none", "near", "sir", "mir", "avg", "top", "ato", "path"]


@pytest.mark.parametrize("seeder", SEEDERS)
def test_reports_and_decision_values_do_not_depend_on_threads(seeder, problem, by_threads):
    whole, param = problem
    X = dense_rows(whole.matrix)

    def found(threads):
        result = libsvmx.cross_validate(
            X,
            list(whole.targets),
            6,
            seeder=seeder,
            scheme="" if seeder == "none" else "star",
            C=4.0,
            gamma=param.gamma,
            threads=threads,
        )
        reports = [(fold.iterations, fold.objective, fold.n_sv) for fold in result.folds]
        return result.predictions.tobytes(), np.asarray(result.decision_values).tobytes(), reports

    assert found(1) == found(2) == found(8)
    assert by_threads == [2, 6]


LEFT_OUT = [
    ("heart_scale", {"C": 4.0}),
    ("heart_scale", {"C": 1000.0, "gamma": 2.0}),
    ("wine.scale", {"C": 2.0}),
    ("pyrim", {"svm_type": 3}),
    ("pyrim", {"svm_type": 4}),
    ("heart_scale", {"svm_type": 1, "nu": 0.3}),
    ("heart_scale", {"svm_type": 2}),
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seeder", ["auto", "near", "path"])
@pytest.mark.parametrize(("name", "options"), LEFT_OUT)
def test_rows_left_out_do_not_depend_on_threads(name, options, seeder, exact, by_threads, monkeypatch):
    matrix, targets = data.load(name)
    problem, param = Problem(matrix, filled("d", targets)), default_gamma(Parameter(**options), matrix.max_index)
    if (exact and not replaces_n_folds(param)) or (seeder == "path" and options.get("svm_type") in (1, 4)):
        pytest.skip("has none")

    def found(threads):
        parts = []
        report = TrainingReport(parts.append)
        own = replace(param, threads=threads)
        result = leave_one_out(problem, own, Rand(1), report, seeder=seeder, with_values=not exact, exact=exact)
        reports = [(fold.iterations, fold.objective, fold.n_sv) for fold in result.folds]
        return (
            bytes(result.predicted),
            bytes(result.values),
            bytes(result.retrained),
            result.known_wrong,
            reports,
            parts,
        )

    assert found(1) == found(2) == found(8)
    assert by_threads == [2, 8]


def test_given_folds_do_not_depend_on_threads(problem, by_threads, monkeypatch):
    monkeypatch.setattr(given_folds, "WORK_FOR_THREADS", 0.0)
    whole, param = problem
    n = len(whole)

    def found(threads):
        given = [
            GivenFold(
                filled("i", [k for k in range(n) if k % 5 != f]),
                filled("i", range(f, n, 5)),
                replace(param, C=2.0**f, gamma=0.1 + 0.1 * f, threads=threads),
            )
            for f in range(5)
        ]
        return [bytes(labels) for labels in predicted_folds(whole, given, Observer())]

    assert found(1) == found(2) == found(8)
    assert by_threads == [2, 5]


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_that_are_done_are_kept_when_leave_one_out_is_ended(threads, problem, few_ahead):
    class Ends(Observer):
        done = 0

        def counted(self, what, done, total):
            self.done = done

        def should_stop(self):
            return self.done >= 20

    whole, param = problem
    observer = Ends()
    with pytest.raises(StoppedEarly) as stopped:
        leave_one_out(whole, replace(param, threads=threads), Rand(1), observer, seeder="near")
    predicted = stopped.value.partial.predicted
    known = [k for k in range(len(whole)) if predicted[k] == predicted[k]]
    assert known == list(range(observer.done)) and 20 <= len(known) < len(whole)


@pytest.mark.parametrize("threads", [2, 3])
def test_folds_that_are_done_are_told_of_when_the_call_ends(threads, problem, few_ahead):
    """Those before the first that is not; an answer holds for the rest of the call."""

    class Ends(Hearing):
        def should_stop(self):
            return len(self.heard) >= 3

    observer = Ends()
    observer.mark = Observer().mark
    with pytest.raises(Stopped) as stopped:
        cross_validate_problem(problem[0], replace(problem[1], threads=threads), 60, Rand(1), limited(observer, 0.0))
    assert stopped.value.status == SolveStatus.INTERRUPTED
    assert 3 <= len(observer.heard) < 60
