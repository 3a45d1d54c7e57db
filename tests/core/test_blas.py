"""Limiting BLAS to one thread: a limit shared by all calls of the process, whichever ends first."""

import os
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # brings its own BLAS
from support.commands import PATIENCE
from threadpoolctl import threadpool_info, threadpool_limits

import libsvmx
from libsvmx._core.blas import one_blas_thread
from libsvmx.io.modelfile import model_text

BEFORE = 3
SOLVERS = [
    {"solver": "irwls", "gamma": 0.02, "C": 1e4},  # hard enough to need least squares
    {"solver": "crsvm", "kernel_type": "linear", "C": 10},
    {"solver": libsvmx.CRSVM(rank=60, low_rank="nystrom"), "gamma": 0.5, "C": 10},
]


def blas_threads():
    """The numbers of threads of every BLAS in this process."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def several():
    """A BLAS with several threads, whatever the machine."""
    with threadpool_limits(BEFORE, "blas"):  # threadpoolctl lets this thread set limits
        yield


def problem(n=400):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 8))
    return X, np.where(X[:, 0] * X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)


def test_the_last_one_lifts_it(several):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {BEFORE}


def test_an_error_lifts_it_too(several):
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {BEFORE}


def test_it_holds_again_where_others_have_changed_the_number(several):
    with one_blas_thread(), threadpool_limits(2, "blas"), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {BEFORE}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_does_not_wait_for_a_thread_it_does_not_have():
    from libsvmx._core.blas import _everybody

    with _everybody.lock:  # as another thread may, at the moment of the fork
        child = os.fork()
        if child == 0:
            with one_blas_thread():
                os._exit(0 if blas_threads() == {1} else 1)
    assert os.waitpid(child, 0)[1] == 0


class Pausing(libsvmx.Observer):
    """At the middle check sets ``there`` and waits for ``go``; ``seen``: threads of BLAS afterwards."""

    def __init__(self):
        self.there, self.go = threading.Event(), threading.Event()
        self.questions, self.seen = 0, None

    def should_stop(self):
        self.questions += 1  # the first check is before the work
        if self.questions == 3:
            self.there.set()
            assert self.go.wait(PATIENCE)
            self.seen = blas_threads()
        return False


@pytest.mark.parametrize("options", SOLVERS)
def test_a_training_that_ends_leaves_the_limit_of_another(several, options):
    X, y = problem()
    alone = model_text(libsvmx.train(X, y, **options))
    observers, models = [Pausing(), Pausing()], [None, None]

    def train(k):
        models[k] = model_text(libsvmx.train(X, y, observer=observers[k], **options))

    threads = [threading.Thread(target=train, args=(k,)) for k in range(2)]
    for observer, thread in zip(observers, threads, strict=True):  # both are in the middle ...
        thread.start()
        assert observer.there.wait(PATIENCE)
    for observer, thread in zip(observers, threads, strict=True):  # ... and end in the order they began
        observer.go.set()
        thread.join(PATIENCE)
    assert [observer.seen for observer in observers] == [{1}, {1}]
    assert blas_threads() == {BEFORE}
    assert models == [alone, alone]


@pytest.mark.parametrize("options", SOLVERS)
def test_trainings_side_by_side_are_those_one_after_the_other(several, options):
    X, y = problem()
    alone = model_text(libsvmx.train(X, y, **options))
    models = []

    def train():
        models.extend(model_text(libsvmx.train(X, y, **options)) for _ in range(3))

    threads = [threading.Thread(target=train) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert models == [alone] * 24
    assert blas_threads() == {BEFORE}
