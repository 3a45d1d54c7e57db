"""Solver auto: when SMO goes on, what replaces it otherwise, and that all reach the same optimum."""

from math import inf

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from support.data import filled, load
from support.judge import Judge
from support.machine import machine_with
from support.policies import KernelPolicy

import libsvmx
from libsvmx._core.records import replace
from libsvmx._core.stopping import Control
from libsvmx._solvers.auto import Auto, ChoicePolicy, Trial
from libsvmx._solvers.decomposition.solver import IRWLS
from libsvmx._solvers.dual import DualProblem, DualSolution
from libsvmx._solvers.linear_work import LinearWork
from libsvmx.enums import SolveStatus

HEART, LABELS = load("heart_scale")
IRIS, SPECIES = load("iris.scale")
KINDS = ("C_SVC", "NU_SVC", "ONE_CLASS", "EPSILON_SVR", "NU_SVR")


# SMO stops after twenty steps as too slow; with a linear kernel after a small share of crsvm's work.
SOON = ChoicePolicy(
    min_variables=1000, checks=((0.02, 0.0),), late_checks=(0.02,), linear_checks=((4e-4, 0.0),), smo_alone=0
)


# A path only after irwls.
NO_FIRST_CHECK = ChoicePolicy(first_check=(0.25, inf))


def auto_by(known=SOON, **changes):
    """The solver with another policy."""
    return Auto(replace(known, **changes))


def chosen(model):
    return [report.chosen for report in model.reports]


def same(model, other, rows=HEART):
    for one, two in zip(model.reports, other.reports, strict=True):
        assert one.status == SolveStatus.CONVERGED
        assert one.objective == pytest.approx(two.objective, rel=1e-6, abs=1e-9)
    ours, theirs = (libsvmx.decision_values(found, rows) for found in (model, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


def test_smo_alone_where_it_is_fast_enough():
    model = libsvmx.train(HEART, LABELS, solver="auto", C=10)
    smo = libsvmx.train(HEART, LABELS, C=10)
    assert chosen(model) == ["smo"]
    assert chosen(smo) == [""]
    assert bytes(model.coef) == bytes(smo.coef)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("max_free", "name"), [(SOON.max_free, "irwls"), (-1, "chunked")])
def test_another_solver_continues(kind, max_free, name):
    options = {"svm_type": kind, "eps": 1e-7, "gamma": 0.1}
    model = libsvmx.train(HEART, LABELS, solver=auto_by(max_free=max_free, min_free_for_pivoting=10**9), **options)
    # for one-class the last gap is left to a path
    assert chosen(model) == [f"smo, {name}{', path' if kind == 'ONE_CLASS' and name == 'irwls' else ''}"]
    same(model, libsvmx.train(HEART, LABELS, **options))


def clouds(n, seed=0):
    """Two overlapping clouds, one inside the other."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, 2))
    X[y < 0] = 2 * X[y < 0] + (2.0, 0.0)
    return X, y


def crescents(n, seed=0):
    """Two interlocking crescents, with columns of deviation 1."""
    rng = np.random.default_rng(seed)
    y, angle = np.where(rng.random(n) < 0.45, 1.0, -1.0), np.pi * rng.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y < 0] = (1.0, 0.5) - X[y < 0]
    X += 0.3 * rng.normal(size=(n, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


SETS = {
    "heart_scale": (lambda: load("heart_scale"), 0.1),
    "ionosphere_scale": (lambda: load("ionosphere_scale.xz"), 0.1),
    "clouds": (lambda: clouds(400), 1.0),
    "crescents": (lambda: crescents(800), 1.0),
    "many crescents": (lambda: crescents(3000), 1.0),
    "5000 crescents": (lambda: crescents(5000), 0.3),
}
LARGE = {"many crescents": (1e5,), "5000 crescents": (1e8,)}
COSTS = [(name, C) for name in SETS for C in LARGE.get(name, (1e3, 1e5, 1e6, 1e8))]


@pytest.mark.parametrize(("name", "C"), COSTS)
def test_it_ends_at_every_cost(name, C):
    """By the judge's gap, in double: some solver reaches the optimum, however large C is."""
    (X, y), gamma = SETS[name][0](), SETS[name][1]
    X, y = X.toarray() if hasattr(X, "toarray") else X, np.asarray(y)
    model = libsvmx.train(X, y, solver="auto", C=C, gamma=gamma)
    assert model.statuses == (SolveStatus.CONVERGED,)
    beta = np.zeros(len(y))
    beta[np.asarray(model.row_numbers) - 1] = np.asarray(model.sv_coef)[0]
    sign = np.where(y == model.labels[0], 1.0, -1.0)
    K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    judge = Judge(K, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0))
    judge.check_feasible(beta, 0 * beta)
    assert judge.gap(beta) <= 2e-3


@pytest.mark.parametrize(("solver", "names"), [("irwls", "irwls, path"), (Auto(NO_FIRST_CHECK), "smo, irwls, path")])
def test_the_path_from_a_small_cost_where_least_squares_take_too_long(solver, names):
    X, y = crescents(800)
    model = libsvmx.train(X, y, solver=solver, C=1e8, gamma=1.0)
    assert chosen(model) == [names]
    assert model.statuses == (SolveStatus.CONVERGED,)
    limited = libsvmx.train(X, y, solver=solver, C=1e8, gamma=1.0, max_iter=10**7)  # counts steps: no path
    assert "path" not in chosen(limited)[0]


def test_the_path_where_the_gap_has_grown_at_once():
    """SMO's steps up to the first check, and then those at the small C, all count."""
    X, y = crescents(800)
    options = {"C": 1e4, "gamma": 1.0, "eps": 1e-6}
    model, other = (libsvmx.train(X, y, solver=solver, **options) for solver in ("auto", Auto(NO_FIRST_CHECK)))
    assert chosen(model) == ["smo, path"]
    assert model.reports[0].iterations > 0.25 * 800
    same(model, other, X)
    for changes in ({"max_iter": 10**7}, {"C": 99.0}):
        assert "path" not in chosen(libsvmx.train(X, y, solver="auto", **{**options, **changes}))[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"first_check": (0.25, 1e9)},
        {"max_margin": ((0.25, 5),), "margin_share": 0.0, "max_free_for_path": inf},
        {"max_free_for_path": 0.1},
    ],
)
def test_no_path_where_the_gap_is_small_or_the_margin_is_large(changes):
    """Then SMO goes on as if nothing had been checked."""
    X, y = crescents(400)
    models = [libsvmx.train(X, y, solver=Auto(policy), C=1e4) for policy in (ChoicePolicy(**changes), NO_FIRST_CHECK)]
    assert chosen(models[0]) == chosen(models[1])
    assert "path" not in chosen(models[0])[0]
    assert bytes(models[0].coef) == bytes(models[1].coef)


def test_a_regression_by_the_path():
    X, y = crescents(800)
    model, other = (
        libsvmx.train(X, y, svm_type="epsilon_svr", solver=solver, C=1e4, gamma=0.3, eps=1e-6)
        for solver in ("auto", Auto(NO_FIRST_CHECK))
    )
    assert chosen(model) == ["smo, path"]
    same(model, other, X)


def test_checks_change_no_step():
    """SMO shrinks and converges between them: the bytes are those of SMO alone."""
    often = auto_by(
        min_variables=1024, checks=tuple((steps / 1024, 1e9) for steps in range(7, 100_000, 13)), late_checks=()
    )
    for options in ({"C": 1000}, {"C": 1000, "svm_type": "epsilon_svr"}, {"C": 1000, "shrinking": False}):
        model, smo = (libsvmx.train(HEART, LABELS, solver=solver, **options) for solver in (often, "smo"))
        assert smo.reports[0].iterations > 3 * len(LABELS)
        assert chosen(model) == ["smo"]
        assert bytes(model.coef) == bytes(smo.coef)
        assert model.reports[0].iterations == smo.reports[0].iterations


@pytest.mark.parametrize("n", [268, 269])
def test_half_a_step_for_each_variable(n):
    """With an odd number of variables, too, a check comes after whole steps, and SMO goes on after it."""
    early = Auto(ChoicePolicy(min_variables=0, checks=((0.5, 1e9),), late_checks=(), smo_alone=0))
    model = libsvmx.train(HEART.toarray()[:n], LABELS[:n], solver=early, C=10)
    assert model.reports[0].iterations > n // 2
    assert chosen(model) == ["smo"]


def test_a_gap_that_does_not_fall():
    """Only one check applies here: the step limit would allow all of it."""
    once = auto_by(NO_FIRST_CHECK, min_variables=0, checks=(), late_checks=(1,))
    options = {"C": 1e5, "gamma": 0.001, "eps": 1e-5}
    hard = libsvmx.train(HEART, LABELS, solver=once, **options)
    assert chosen(hard) == ["smo, irwls"]
    easy = libsvmx.train(HEART, LABELS, solver=once, C=0.01)
    assert chosen(easy) == ["smo"]


@pytest.mark.parametrize(
    ("most", "free", "much", "names"),
    [(1.5, 2500, 1.5, "smo, irwls"), (1e9, 2500, 1.5, "smo"), (1.5, 1, 1e9, "smo"), (1e9, 1, 1.5, "smo, irwls")],
)
def test_a_gap_that_has_grown_at_the_first_check(most, free, much, names):
    """The later ones would come after the end; with many free variables it must have grown by another factor."""
    late = replace(
        NO_FIRST_CHECK, min_variables=0, checks=((1, most),), late_checks=(10_000,), max_steps_few_free=10_000,
        max_steps_per_variable=10_000,
    )  # fmt: skip
    solver = auto_by(late, max_free=free, ratio_many_free=much)
    model = libsvmx.train(HEART, LABELS, solver=solver, C=1e5, gamma=0.01, eps=1e-2)
    assert chosen(model) == [names]


@pytest.mark.parametrize("kind", ["C_SVC", "EPSILON_SVR"])
def test_steps_are_counted_by_rows(kind):
    """In regression, too, where a row has two variables. With few free variables SMO ends sooner."""
    options = {"svm_type": kind, "C": 1e3, "gamma": 0.1}
    steps = libsvmx.train(HEART, LABELS, **options).reports[0].iterations
    late = replace(NO_FIRST_CHECK, min_variables=0, checks=(), late_checks=())
    for share, free, names in ((0.75, 2500, "smo, irwls"), (1.25, 2500, "smo"), (0.75, 0, "smo")):
        solver = auto_by(late, max_free=free, max_steps_few_free=share * steps / len(LABELS))
        assert chosen(libsvmx.train(HEART, LABELS, solver=solver, **options)) == [names]


@pytest.mark.parametrize(("soon_enough", "names"), [(40, "smo"), (0.01, "smo, irwls")])
def test_a_gap_that_does_not_fall_fast_enough(soon_enough, names):
    once = ChoicePolicy(
        min_variables=0, checks=(), late_checks=(4,), smo_alone=0, max_total_steps_left=0, max_steps_left=soon_enough
    )
    model = libsvmx.train(HEART, LABELS, solver=Auto(once), C=10, gamma=0.1, eps=1e-6)
    assert chosen(model) == [names]


@pytest.mark.parametrize(
    ("kind", "C", "names"), [("c_svc", 90, "smo"), ("epsilon_svr", 90, "smo, irwls"), ("epsilon_svr", 40, "smo")]
)
def test_a_regression_is_watched_from_half_the_product(kind, C, names):
    """With or without memory for a queue."""
    for size in (100, 1e-3):
        solver = auto_by(smo_alone=100.0)
        model = libsvmx.train(HEART, LABELS, svm_type=kind, solver=solver, C=C, gamma=0.1, cache_size=size)
        assert chosen(model) == [names]


@pytest.mark.parametrize(("distance", "names"), [(0.0, "smo, crsvm"), (9.0, "smo")])
def test_many_rows_of_few_features_are_left_to_crsvm_early(distance, names):
    """Unless smo has ended before the first check, as it does where the classes are far apart."""
    X, y = np.random.default_rng(0).normal(size=(20_000, 3)), np.repeat([1.0, -1.0], 10_000)
    X[:, 0] += distance * y
    model = libsvmx.train(X, y, solver="auto", kernel_type="linear")
    assert chosen(model) == [names]
    assert model.reports[0].iterations < 100


def test_a_linear_kernel_by_features():
    options = {"kernel_type": "linear", "C": 20, "eps": 1e-6}  # for smaller C smo takes least
    model = libsvmx.train(HEART, LABELS, solver=Auto(SOON), **options)
    assert chosen(model) == ["smo, crsvm"]
    same(model, libsvmx.train(HEART, LABELS, solver="crsvm", **{**options, "eps": 1e-8}))  # smo stops at rounding error


def test_regression_with_a_linear_kernel_by_features():
    options = {"svm_type": "epsilon_svr", "kernel_type": "linear", "C": 30, "p": 0.3, "eps": 1e-6}
    X = HEART.toarray()
    model = libsvmx.train(X, X[:, 2] + 0.3 * np.asarray(LABELS), solver=Auto(SOON), **options)
    assert chosen(model) == ["smo, crsvm"]
    same(model, libsvmx.train(X, X[:, 2] + 0.3 * np.asarray(LABELS), **options))


def test_zeros_count_as_nothing_in_any_form():
    """An array keeps zeros that sparse rows omit; with some of them rows are still dense for crsvm."""
    drawn = np.random.default_rng(3).normal(size=(2000, 60))
    y = np.where(drawn[:, :9].sum(axis=1) + 2 * np.sin(9 * drawn[:, 0]) > 0, 1.0, -1.0)
    options = {"solver": "auto", "kernel_type": "linear", "C": 10}
    full = libsvmx.train(drawn, y, **options)
    drawn[0, 0] = 0.0
    models = [libsvmx.train(rows, y, **options) for rows in (drawn, csr_array(drawn))]
    assert chosen(full) == chosen(models[0]) == chosen(models[1]) == ["smo, crsvm"]
    assert models[0].reports[0].iterations == models[1].reports[0].iterations
    assert bytes(models[0].coef) == bytes(models[1].coef)


def test_no_features_where_there_are_too_many():
    wide = np.random.default_rng(0).normal(size=(60, 40))
    y = np.where(wide[:, 0] > 0, 1.0, -1.0)
    model = libsvmx.train(wide, y, solver=Auto(SOON), kernel_type="linear", C=100)
    assert chosen(model) == ["smo, irwls"]


class Stalling(IRWLS):
    """Ends with status ROUNDING, at its result or at its start; ``starts``: whether from a cold start."""

    def __init__(self, starts, is_lost):
        super().__init__()
        vars(self).update(starts=starts, is_lost=is_lost)

    def solve(self, dual, kernel, budget_bytes, control, threads):
        self.starts.append(dual.scores is None)
        found = super().solve(dual, kernel, budget_bytes, control, threads)
        if self.starts[-1] and not self.is_lost:
            return found
        beta, scores = (dual.beta, dual.linear) if self.is_lost else (found.beta, found.scores)
        return DualSolution(
            beta=beta,
            scores=scores,
            rho=found.rho,
            objective=0.0 if self.is_lost else found.objective,
            iterations=found.iterations,
            status=SolveStatus.ROUNDING,
        )


@pytest.mark.parametrize(("is_lost", "names"), [(False, "smo, irwls, irwls"), (True, "smo, irwls, irwls, chunked")])
def test_a_cold_start_if_rounding_stops_the_first(is_lost, names):
    """The second attempt begins at SMO's start; if rounding stops that, too, chunked follows."""
    starts = []
    model = libsvmx.train(HEART, LABELS, solver=auto_by(least_squares=Stalling(starts, is_lost)), C=10)
    assert starts == [False, True]
    assert chosen(model) == [names]
    assert model.statuses == (SolveStatus.CONVERGED,)


@pytest.mark.parametrize(("C", "steps", "has_grown"), [(1e4, 20, True), (1.0, 150, False)])
def test_what_a_gap_that_has_grown_leaves_is_no_start(C, steps, has_grown):
    starts = []
    checks = {"checks": ((steps / 1000, 1e-9),), "late_checks": (), "first_check": (0.01, inf)}
    model = libsvmx.train(HEART, LABELS, C=C, solver=auto_by(least_squares=Stalling(starts, False), **checks))
    assert starts[0] == has_grown
    assert model.statuses == (SolveStatus.CONVERGED,)


@pytest.mark.parametrize(
    ("linear", "lower", "upper", "group", "expected"),
    [
        ([1, -1], [0, -2], [1, 0], [0, 0], True),
        ([1.9, 2.1], [0, -2], [2, 0], [0, 0], True),  # a target
        ([1, -1], [0, -2], [0, 0], [0, 0], False),  # is fixed
        ([1, -1], [0, 0], [1, 0], [0, 0], False),
        ([1, -1], [-1, -2], [1, 0], [0, 0], False),
        ([1, -1], [0, -2], [1, 1], [0, 0], False),
        ([1, 0.5], [0, 0], [1, 1], [0, 0], False),  # only one side
        ([0, 0], [0, 0], [1, 1], [0, 0], False),  # one-class
        ([1, -1], [0, -2], [1, 0], [0, 1], False),  # two sums: a nu formulation
    ],
)
def test_the_dual_of_hinges(linear, lower, upper, group, expected):
    rows = filled("i", [0, 1])
    vectors = (filled("d", values) for values in (linear, lower, upper))
    dual = DualProblem(*vectors, filled("b", group), rows, filled("d", [0, 0]))
    assert dual.is_of_hinges() == expected


@pytest.mark.parametrize("limit", [1, 15, 25, 100])
@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_an_iteration_limit_holds_for_all_of_them(limit):
    model = libsvmx.train(HEART, LABELS, solver=auto_by(max_free=-1), C=1e4, eps=1e-9, max_iter=limit)
    assert model.statuses == (SolveStatus.ITERATION_LIMIT,)
    assert model.reports[0].iterations == limit
    assert chosen(model) == ["smo" if limit <= 20 else "smo, chunked"]


def test_several_classes_in_a_queue_and_outside():
    """Both with LIBSVM's steps."""
    one, two, three = (
        libsvmx.train(IRIS, SPECIES, solver=solver, C=C) for solver, C in [("auto", 10), ("smo", 10), ("auto", 1000)]
    )
    assert chosen(one) == ["smo", "smo", "smo"]
    assert bytes(one.coef) == bytes(two.coef)
    assert chosen(three) == ["smo", "smo", "smo"]


def test_folds_states_and_estimates():
    rates = [
        libsvmx.cross_validate(HEART, LABELS, 5, solver=solver, seeder=seeder).accuracy
        for solver in ("auto", "smo")
        for seeder in ("none", "sir")
    ]
    assert len(set(rates)) == 1
    state = libsvmx.train(HEART, LABELS, solver="auto", keep_state=True)
    state.remove([0])
    assert state.report.gap < 1e-6
    model = libsvmx.train(HEART, LABELS, solver="auto", probability=True)
    assert model.has_probability
    with pytest.warns(libsvmx.ConvergenceWarning):
        assert libsvmx.train(HEART, LABELS, solver="auto", C=float("inf"), kernel_type="linear").n_sv


HARD = {"C": 1.0, "gamma": 0.05, "eps": 1e-7}
WEIGHTS = [
    {"weights": {1: 1e5, 2: 1e5, 3: 1e5}},
    {"sample_weight": np.full(150, 1e5)},
    {"weights": {1: 1e3, 2: 1e3, 3: 1e3}, "sample_weight": np.full(150, 1e3)},
]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_large_bounds_from_weights_rule_out_a_queue(weights):
    """With or without memory for a queue, another solver goes on, to the same optimum."""
    drawn = np.random.default_rng(5).normal(size=(150, 3))
    models = [libsvmx.train(drawn, SPECIES, solver="auto", cache_size=size, **HARD, **weights) for size in (100, 1e-3)]
    for model in models:
        assert any(", " in name for name in chosen(model))
    same(*models, drawn)


@pytest.mark.parametrize("kernel_type", ["rbf", "linear", "polynomial"])
def test_the_choice_without_a_trial_does_not_depend_on_memory_for_a_queue(kernel_type):
    """With so low a threshold of steps any problem may be handed over."""
    checks = {"checks": ((0.005, 0.0),), "late_checks": (0.005,), "linear_checks": ((1e-4, 0.0),)}
    solver = Auto(ChoicePolicy(min_variables=1000, trial_rows=0, **checks))
    options = {"kernel_type": kernel_type, "eps": 1e-5, "coef0": 1.0}
    found = set()
    for C in (0.1, 20.0, 1000.0):
        models = [libsvmx.train(IRIS, SPECIES, solver=solver, C=C, cache_size=size, **options) for size in (100, 1e-3)]
        assert chosen(models[0]) == chosen(models[1])
        found.update(chosen(models[0]))
    assert any(", " in name for name in found)


# SMO tries pairs in a queue, for a step per row.
SHORT_TRIAL = ChoicePolicy(
    min_variables=1, trial_steps_per_variable=1.0, checks=((1.0, 0.0),), linear_checks=((0.001, 0.0),)
)
HARD_PAIRS = {"gamma": 1.0, "C": 1e3, "eps": 1e-7}


def test_pairs_are_tried_by_smo_in_a_queue_at_any_cost():
    """Others go on outside it, and nothing depends on the number of threads."""
    policies = [ChoicePolicy(trial_rows=0, checks=((0.0001, 0.0),)), SHORT_TRIAL, ChoicePolicy()]
    outside, some, all_of_them = (
        [libsvmx.train(IRIS, SPECIES, solver=Auto(policy), threads=n, **HARD_PAIRS) for n in (1, 3)]
        for policy in policies
    )
    assert all(", " in name for name in chosen(outside[0]))
    assert set(chosen(some[0])) == {"smo", "smo, irwls"}
    assert set(chosen(all_of_them[0])) == {"smo"}
    assert bytes(all_of_them[0].coef) == bytes(libsvmx.train(IRIS, SPECIES, **HARD_PAIRS).coef)
    for model, again in (outside, some, all_of_them):
        np.testing.assert_allclose(model.decision_function(IRIS), outside[0].decision_function(IRIS), atol=1e-3)
        np.testing.assert_array_equal(model.sv_coef, again.sv_coef)


def test_the_steps_of_a_trial_are_not_thrown_away():
    """The next solver starts where they end, and they count. Where the gap has grown there is a path."""
    starts = []
    solver = auto_by(SHORT_TRIAL, least_squares=Stalling(starts, False))
    model = libsvmx.train(IRIS, SPECIES, solver=solver, **HARD_PAIRS)
    assert chosen(model) == ["smo", "smo", "smo, irwls, irwls"]
    assert model.reports[2].iterations > 200
    assert starts == [False, True]
    model = libsvmx.train(IRIS, SPECIES, solver=auto_by(SHORT_TRIAL, checks=((1.0, 1e-9),)), **HARD_PAIRS)
    assert chosen(model) == ["smo", "smo", "smo, path"]


def test_a_trial_that_goes_on():
    """A check that SMO passes changes no step."""
    solver = auto_by(SHORT_TRIAL, checks=((1.0, 1e9), (1.5, 1e9)), late_checks=())
    model, smo = (libsvmx.train(IRIS, SPECIES, solver=one, **HARD_PAIRS) for one in (solver, "smo"))
    assert max(report.iterations for report in smo.reports) > 150
    assert set(chosen(model)) == {"smo"}
    assert bytes(model.coef) == bytes(smo.coef)


def test_pairs_with_a_linear_kernel_are_tried_where_crsvm_is_much_work():
    """The checks are the same as outside of the queue."""
    options = {"kernel_type": "linear", "C": 1e3, "eps": 1e-6}
    models = [
        libsvmx.train(IRIS, SPECIES, solver=auto_by(SHORT_TRIAL, linear_smo_alone=0, **changes), **options)
        for changes in ({}, {"trial_rows": 0}, {"trial_rows_per_step": inf})
    ]
    for model in models:
        assert chosen(model) == ["smo", "smo", "smo, crsvm"]
        same(model, models[0], IRIS)


@pytest.mark.parametrize(("rows", "C", "names"), [(1400, 0.1, {"smo"}), (1400, 100, {"smo, crsvm"})])
def test_a_linear_kernel_with_a_small_product_is_left_to_smo(rows, C, names):
    """The same for pairs of classes, solved alone or in a queue."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 5))
    y = np.floor(3 * rng.random(rows))
    for classes in (2, 3):
        model = libsvmx.train(X, np.minimum(y, classes - 1), solver="auto", kernel_type="linear", C=C)
        assert set(chosen(model)) == names


def test_more_features_than_rows_are_left_to_smo():
    """For any C: a plane separates them, and no coefficient reaches C. Other problems are checked, and handed over."""
    X, y = np.random.default_rng(2).normal(size=(135, 100)), np.repeat([1.0, 2.0, 3.0], 45)
    solver = Auto(ChoicePolicy(min_variables=1000, checks=((0.005, 0.0),), trial_rows=0))
    for rows in (range(90), range(135)):  # a solve by itself, and pairs in a queue
        wide, smo, narrow = (
            libsvmx.train(features[rows], y[rows], solver=choice, kernel_type="linear", C=1e3)
            for features, choice in ((X, solver), (X, "smo"), (X[:, :60], solver))
        )
        assert set(chosen(wide)) == {"smo"}
        assert bytes(wide.coef) == bytes(smo.coef)
        assert set(chosen(narrow)) == {"smo, irwls"}


def low_rank(n, d, rank):
    """Rows with more features than rows, of low dimension, so that no plane separates the labels."""
    r = np.random.default_rng(1)
    X = r.normal(size=(n, rank)) @ r.normal(size=(rank, d)) / np.sqrt(d)
    return X, np.where(X[:, 0] + r.normal(size=n) * X[:, 0].std() > 0, 1.0, -1.0)


@pytest.mark.parametrize(("n", "d", "rank", "C"), [(400, 500, 3, 1e4), (60, 100, 2, 1e5)])
def test_more_features_than_rows_that_no_plane_separates(n, d, rank, C):
    """SMO alone reaches its own limit, or rounding hides the gap."""
    X, y = low_rank(n, d, rank)
    model = libsvmx.train(X, y, kernel_type="linear", C=C, solver="auto")
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert chosen(model)[0].startswith("smo, ")


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_a_solution_of_smo_alone_is_checked_in_double():
    """At a tolerance beyond float, SMO converges in float alone; the others go on in double."""
    X, y = low_rank(60, 100, 2)
    solver = Auto(ChoicePolicy(max_steps_per_variable=1e5))
    smo, auto = (libsvmx.train(X, y, kernel_type="linear", C=1e5, solver=one) for one in ("smo", solver))
    assert smo.statuses == (SolveStatus.ROUNDING,)
    assert auto.statuses == (SolveStatus.CONVERGED,)
    assert chosen(auto)[0].startswith("smo, ")


@pytest.mark.parametrize(("distance", "names"), [(4.0, "smo"), (0.0, "smo, crsvm")])
def test_a_linear_kernel_is_solved_by_the_solver_with_less_work(distance, names):
    """For overlapping classes SMO would need thirty times the steps that take as long as crsvm; a tenth shows it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = np.where(X[:, 0] + (distance == 0) * rng.normal(size=3000) > 0, 1.0, -1.0)
    X[:, 0] += distance * y
    model = libsvmx.train(X, y, solver="auto", kernel_type="linear")
    assert chosen(model) == [names]
    few = model.reports[0].iterations < 0.2 * LinearWork(20, 20, False).in_steps(3000, 3000)
    assert few == (names == "smo, crsvm")


def test_many_pairs_are_tried_at_once_up_to_a_limit():
    """However many a queue takes of pairs that it keeps nothing of."""
    solver = Auto(ChoicePolicy(checks=((0.0001, 0.0),)))
    tried, outside = (
        libsvmx.train(IRIS, SPECIES, solver=solver, policy=policy, **HARD_PAIRS)
        for policy in (KernelPolicy(pairs_in_queue=1), KernelPolicy(pairs_tried=2))
    )
    assert set(chosen(tried)) == {"smo"}
    assert all(", " in name for name in chosen(outside))


class EndsWithTheFirst(libsvmx.Observer):
    """Ends the call as soon as a pair is reported, which is after the trial of all."""

    ended = False

    def solved(self, report):
        self.ended = True

    def should_stop(self):
        return self.ended


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_a_stop_leaves_what_the_trial_has_found():
    solver = Auto(SHORT_TRIAL)
    model = libsvmx.train(IRIS, SPECIES, solver=solver, threads=1, observer=EndsWithTheFirst(), **HARD_PAIRS)
    assert model.statuses == (SolveStatus.CONVERGED, SolveStatus.CONVERGED, SolveStatus.INTERRUPTED)
    assert model.reports[2].iterations == 100
    assert model.reports[2].objective < 0 < model.reports[2].n_sv
    assert np.mean(model.predict(IRIS) == SPECIES) > 0.9


def test_a_stop_before_a_pair_is_tried():
    """Of a pair that is not begun, the gap is that of the one before, such as 0 of two rows: no check asks for it."""

    class Over:
        gap, n_free, was_stopped = 0.0, 0, True

        def advance(self, limit):
            return False

    trial = Trial(ChoicePolicy(), LinearWork(0.0, 0, False))
    assert trial.run(Over(), 10, Control(1e-3)) == (False, False)


def test_the_seconds_of_a_trial_count():
    with machine_with(monotonic=lambda: 0.0):
        model = libsvmx.train(IRIS, SPECIES, solver=Auto(SHORT_TRIAL), threads=1, **HARD_PAIRS)
    assert chosen(model)[2] == "smo, irwls"
    assert model.reports[2].seconds > 0


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["chunked", "auto"])
def test_few_rows_take_few_steps_at_any_C(solver):
    """Between equal rows of both classes steps are as large as SMO's least curvature allows, far from any bound."""
    X, y = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 2, axis=0), [1, -1] * 3
    model = libsvmx.train(X, y, C=1e100, eps=1e-12, solver=solver)
    assert model.statuses == ("rounding",)
    assert model.reports[0].iterations < 2e6
