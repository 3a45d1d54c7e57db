"""Small solves at once: the same bytes in any order, by any number of threads, and what a queue refuses."""

import random
import threading

import numpy as np
import pytest
from support import data
from support.data import filled

from libsvmx._core.rand import Rand
from libsvmx._core.stopping import NOBODY
from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.gram import Gram
from libsvmx._kernels.kernel import Kernel
from libsvmx._train import kernel_provider
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.queue.solve_queue import SolveQueue
from libsvmx._train.training import cross_validate_problem, default_gamma, train_problem
from libsvmx.enums import SolveStatus
from libsvmx.io.modelfile import model_text
from libsvmx.io.transcript import TrainingReport


def problem_of(name):
    matrix, targets = data.load(name)
    return Problem(matrix, filled("d", targets)), default_gamma(Parameter(C=8.0), matrix.max_index)


def bytes_of(problem, param):
    parts = []
    model = train_problem(problem, param, Rand(1), TrainingReport(parts.append))
    return model_text(model), "".join(parts)


@pytest.mark.parametrize("svm_type", [0, 1])
@pytest.mark.parametrize("shrinking", [True, False])
def test_models_do_not_depend_on_threads_or_the_queue(svm_type, shrinking, monkeypatch):
    problem, _ = problem_of("vowel.scale.xz")
    settings = {"svm_type": svm_type, "nu": 0.05, "C": 8.0, "gamma": 1.0, "probability": True, "shrinking": shrinking}
    at_once = [bytes_of(problem, Parameter(**settings, threads=threads)) for threads in (1, 2, 3, 8)]
    monkeypatch.setattr(kernel_provider, "MOST_GRAM_BYTES", 0)
    in_turn = bytes_of(problem, Parameter(**settings))
    assert at_once == [in_turn] * 4


@pytest.mark.parametrize("options", [{}, {"probability": True}, {"svm_type": 2}, {"svm_type": 3}, {"svm_type": 4}])
def test_folds_do_not_depend_on_threads_or_the_queue(options, monkeypatch):
    problem, param = problem_of("glass.scale")

    def validated(threads):
        parts = []
        settings = Parameter(gamma=param.gamma, C=8.0, threads=threads, **options)
        report = TrainingReport(parts.append)
        return bytes(cross_validate_problem(problem, settings, 20, Rand(1), report)), "".join(parts)

    at_once = [validated(threads) for threads in (1, 2, 3, 8)]
    monkeypatch.setattr(kernel_provider, "MOST_GRAM_BYTES", 0)
    assert at_once == [validated(1)] * 4


def queue_of(problem, param, observer=None):
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    gram = Gram(kernel, ThreadPool(2), NOBODY)
    return SolveQueue(gram, problem.matrix, problem.targets, None, param, observer or Observer())


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


def test_a_queue_that_is_stopped_keeps_what_is_done():
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


def test_numbers_out_of_range_are_refused():
    problem, param = problem_of("heart_scale")
    queue = queue_of(problem, param)
    with pytest.raises(IndexError, match="row 270 of 270"):
        queue.add(filled("i", [0, 270]), 1, 1.0, 1.0)
    with pytest.raises(IndexError, match="solve 5 of"):
        queue.was_begun(5)
