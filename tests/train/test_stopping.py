"""Solvers on features, low-rank factors and IRWLS check for a stop while they work, and stop at any check."""

from functools import cache

import numpy as np
import pytest
from libsvmx._core.arrays import ramp
from support.asking import Asked
from support.lowrank import BUDGET, RBF, check, from_dense, given, kernel_of, points
from support.recorder import Recorder

import libsvmx
from libsvmx._core.stopping import Stopped
from libsvmx._kernels.approximation import Approximation
from libsvmx._kernels.block_kernel import KernelSpec
from libsvmx._kernels.lowrank import factorize

pytestmark = pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")

# Rows for more work than a Control allows without a check.
ROWS = 3000
LONG = {
    "linear": {"solver": "crsvm", "kernel_type": 0},
    "second order": {"solver": "crsvm", "kernel_type": 1, "degree": 2, "coef0": 1},
    "cholesky": {"solver": "crsvm", "rank": 300},
    "rpcholesky": {"solver": "crsvm", "rank": 300, "low_rank": "rpcholesky", "predict_with": "factor"},
    "nystrom": {"solver": "crsvm", "rank": 300, "low_rank": "nystrom"},
    "eigen": {"solver": "crsvm", "rank": 20, "low_rank": "eigen"},
    "irwls": {"solver": "irwls", "C": 1000, "working_set": 1000},
}


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 30))
    return X, np.sign(X @ rng.normal(size=30) + rng.normal(size=ROWS))


class StopsAt(Recorder):
    """Says stop at the n-th check; must not be asked again."""

    def __init__(self, n):
        super().__init__()
        self.n, self.asked = n, 0

    def should_stop(self):
        self.asked += 1
        return self.asked >= self.n


@cache
def questions(name):
    """The number of checks in an undisturbed training."""
    never = StopsAt(10**9)
    model = libsvmx.train(*rows(), threads=1, observer=never, **LONG[name])
    assert model.statuses == ("converged",)
    return never.asked


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_stopped_at_any_question(name, threads, exhaustive):
    most = questions(name)
    assert most > 3
    ends = set()
    for n in sorted({1, 3, most // 2, most - 1} if exhaustive else {1, most // 2}):
        stops, (X, y) = StopsAt(n), rows()
        try:
            model = libsvmx.train(X, y, threads=threads, observer=stops, **LONG[name])
        except libsvmx.SvmxError as error:
            assert "interrupted" in str(error)
            assert not stops.reports
            ends.add("no model")
        else:
            (report,) = stops.reports
            # a vertex may be optimal before the iterations converge; with threads there may be fewer checks
            assert report.status == "interrupted" or (report.status == "converged" and stops.asked <= most)
            assert model.statuses == (report.status,)
            assert np.isfinite(libsvmx.decision_values(model, X)).all()
            ends.add(str(report.status))
        assert stops.asked <= n
    assert ends & {"interrupted", "no model"}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_exceptions_of_the_observer_propagate(name, threads):
    class Raises(Recorder):
        def should_stop(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        libsvmx.train(*rows(), threads=threads, observer=Raises(), **LONG[name])


def test_the_pivots_so_far_make_a_factor():
    stops = StopsAt(4)
    model = libsvmx.train(*rows(), rank=400, solver="crsvm", threads=1, observer=stops)
    ((rank, error, trace),) = stops.factors
    assert 0 < rank < 400 and 0 < error < trace
    assert model.statuses == ("interrupted",)


def test_a_time_limit_of_a_factor():
    found = libsvmx.low_rank(rows()[0], rank=400, gamma=0.1, threads=1)
    assert found.rank == 400
    with pytest.raises(libsvmx.SvmxError, match="time limit"):
        libsvmx.low_rank(rows()[0], rank=400, gamma=0.1, low_rank="nystrom", time_limit=1e-9)


# ---- factors, at every check ---------------------------------------------------------------------

METHODS = {
    "cholesky": {"rank": 200},
    "cholesky to an error": {"low_rank": "cholesky", "rank_error": 1e-3},
    "rpcholesky": {"rank": 200, "low_rank": "rpcholesky"},
    "nystrom": {"rank": 200, "low_rank": "nystrom"},
    "nystrom to an error": {"low_rank": "nystrom", "rank_error": 1e-3},
    "eigen": {"rank": 30, "low_rank": "eigen"},
    "eigen of all": {"rank": 400, "low_rank": "eigen"},
}


@pytest.mark.each_value
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["given", "rbf"])
def test_a_factor_stopped_at_every_question(name, kind, exhaustive):
    X = points(300 if kind == "given" else 1050, 5)
    K = kernel_of(X, X, RBF, gamma=0.3)
    matrix, arguments = (given(K), (4, 0, 0.0, 0.0)) if kind == "given" else (from_dense(X), (RBF, 0, 0.3, 0.0))
    most = Asked()

    def factor(asked):
        settings = Approximation(**METHODS[name])
        return factorize(matrix, ramp(matrix.n_rows), KernelSpec(*arguments), settings, BUDGET, 1, asked)

    whole = factor(most)
    some = range(1, len(most.told) + 1, max(1, len(most.told) // (10 if exhaustive else 3)))
    ranks = []
    for n in some:
        asked = Asked(n)
        try:
            found = factor(asked)
        except Stopped:
            ranks.append(0)
            continue
        check(found, K, matrix, arguments, slack=1e-6)
        ranks.append(found.factor.shape[1])
        assert found.trace_error >= whole.trace_error - 1e-9
    assert ranks == sorted(ranks)
    assert ranks[0] == 0
    partial = "eigen" not in name and (name != "nystrom")
    assert (ranks[-1] > 0) == partial


@pytest.mark.parametrize("solver", ["smo", "chunked", "irwls", "crsvm", "auto"])
def test_pairs_of_classes_that_are_not_begun_cost_no_work(solver):
    """Their solvers are not even called; their part of the model is feasible, and reported so."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.arange(4000) % 5.0

    class Stops(Recorder):
        asked = 0

        def should_stop(self):
            self.asked += 1
            return bool(self.reports) or (queued and self.asked == 300)  # a queue reports solves at its end

    stops, queued = Stops(), solver in ("smo", "auto")
    options = {"rank": 50} if solver == "crsvm" else {}
    model = libsvmx.train(X, y, solver=solver, observer=stops, threads=1, **options)
    assert len(stops.reports) == 10
    begun = sum(report.iterations > 0 for report in stops.reports) if queued else 1
    assert 0 < begun < 10
    for report in stops.reports[:begun]:
        assert report.iterations > 0 and report.n_sv > 0
    for report in stops.reports[begun:]:
        assert (report.status, report.iterations, report.n_sv, report.objective) == ("interrupted", 0, 0, 0.0)
        assert (report.rho, report.gap) == (0.0, 2.0)
    if begun == 1:
        assert model.n_sv == stops.reports[0].n_sv
