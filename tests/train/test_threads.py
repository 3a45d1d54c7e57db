"""Any number of threads gives the same model, and threads work again after a fork."""

import os
from functools import cache

import numpy as np
import pytest
from support import data

import libsvmx
from libsvmx import Parameter, ParameterError
from libsvmx.io.modelfile import model_text

N = 2600  # enough rows for helper threads, and for several tiles


def rows_of(kind):
    """Rows for each kind of storage."""
    rng = np.random.default_rng(7)
    if kind == "dense":
        return rng.normal(size=(N, 300)).tolist()  # rows long enough to be split
    if kind == "bits":
        return (rng.random((N, 60)) < 0.2).astype(float).tolist()
    if kind == "columns":
        return ((rng.random((N, 60)) < 0.2) * np.linspace(0.1, 0.9, 60)).tolist()
    return (rng.normal(size=(N, 90)) * (rng.random((N, 90)) < 0.1)).tolist()


@cache
def problem_of(kind):
    rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in rows_of(kind)]
    return data.from_rows(rows), np.where(np.random.default_rng(8).random(N) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize(
    "options", [{"C": 2.0, "gamma": 0.002}, {"svm_type": 3, "gamma": 0.1, "C": 0.5}, {"kernel_type": 0, "C": 0.01}]
)
@pytest.mark.parametrize("kind", ["dense", "bits", "columns", "postings"])
def test_the_same_model(kind, options, exhaustive):
    problem = problem_of(kind)
    several = (1, 2, 3) if exhaustive else (1, 3)
    texts = {model_text(libsvmx.train(*problem, threads=threads, **options)) for threads in several}
    assert len(texts) == 1


@pytest.mark.parametrize("megabytes", [17.5, 18.5])
def test_rows_of_a_class_that_its_pairs_share(megabytes):
    """Little memory: a row is shared with its own class alone, and is not kept whole."""
    n, draw = 1100, np.random.default_rng(3)
    X, y = draw.normal(size=(3 * n, 60)), np.repeat([1.0, 2.0, 3.0], n)
    X[y == 2, 0] += 1
    X[y == 3, 1] += 1
    models = [libsvmx.train(X, y, threads=t, gamma=0.02, cache_size=megabytes) for t in (1, 2, 3, 8)]
    assert len({(m.coef.tobytes(), np.asarray(m.rho).tobytes()) for m in models}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork():
    problem, param = problem_of("dense"), Parameter(gamma=0.002, threads=2)
    expected = model_text(libsvmx.train(*problem, param))
    child = os.fork()
    if child == 0:
        same = model_text(libsvmx.train(*problem, param)) == expected
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("threads", [-1, 1025, 1.5, "2"])
def test_invalid_numbers_of_threads(threads):
    with pytest.raises(ParameterError, match="threads"):
        Parameter(threads=threads)


def test_threads_are_not_part_of_a_parameter():
    assert Parameter(threads=3) == Parameter()
