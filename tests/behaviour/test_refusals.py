"""Every combination that no suite runs on is refused, with the message in the table."""

import numpy as np
import pytest

import libsvmx
from libsvmx import SvmxError

from .table import REFUSALS, Case, chosen, combinations_of, refusal
from .test_grid_search import axes_of


def over_rows(function, *between, **fixed):
    """Call for a function of rows, targets and options."""
    return lambda case: function(case.X(), case.y(), *between, **{**case.options, **fixed})


def of_state(function, *between):
    return lambda case: function(case.state(), *between or (case.tests(),))


def grid(case):
    return libsvmx.grid_search(
        case.X(), case.y(), n_folds=3, **{**(axes_of(case) or {"log2c": (0, 0, 1)}), **case.options}
    )


CALLS = {
    "train": over_rows(libsvmx.train),
    "start": lambda case: case.train(start=np.zeros((max(case.task.n_classes - 1, 1), len(case.rows)))),
    "state": over_rows(libsvmx.train, keep_state=True),
    "set_cost": lambda case: case.state().set_cost(3.0),
    "set_nu": lambda case: case.state().set_nu(0.2),
    "calibrated": over_rows(libsvmx.train, probability="cv"),
    "predict_probability": lambda case: libsvmx.predict_probability(case.train(probability=True), case.tests()),
    "cross_validate": over_rows(libsvmx.cross_validate, 3),
    "seeded": over_rows(libsvmx.cross_validate, 3, seeder="sir"),
    "leave_one_out": over_rows(libsvmx.leave_one_out),
    "grid_search": grid,
    "c_path": lambda case: libsvmx.c_path(case.X(), case.y(), 0.5, 1.0, **case.options),
    "tau_path": lambda case: libsvmx.tau_path(case.X(), case.y(), 0.4, 0.6, **case.options),
    "fit_many": lambda case: libsvmx.fit_many(case.X(), case.y()[:, None], **case.options),
    "permutation_test": over_rows(libsvmx.permutation_test, 2, 3),
    "influence": lambda case: libsvmx.influence(case.state(), case.tests(), case.y(case.new)),
    "jackknife_plus": of_state(libsvmx.jackknife_plus),
    "full_conformal": of_state(libsvmx.full_conformal),
    "conformal_p_values": lambda case: libsvmx.conformal_p_values(case.state(), case.tests(), case.y(case.new)),
    "cv_plus": lambda case: libsvmx.cv_plus(case.X(), case.y(), case.tests(), 3, **case.options),
    "compress": lambda case: libsvmx.compress(case.train(), max_sv=5),
    "explain": lambda case: libsvmx.explain(case.train(), case.tests()[:1], case.X()[:1]),
    "export": lambda case: libsvmx.export(case.train(), "/dev/null"),
}
# Used for refusals that hold for every function.
OF_ALL = "train"
REFUSED = [
    (function, *names)
    for function in CALLS
    for names in combinations_of(function, refused=True)
    if function == OF_ALL or refusal(function, *names).functions
]


@pytest.mark.parametrize("function, solver, task, kernel", chosen(REFUSED, others=()))
def test_unsupported_combinations_are_refused(function, solver, task, kernel):
    expected = refusal(function, solver, task, kernel)
    case = Case(solver, task, kernel)
    with pytest.raises(expected.error, match=expected.match) as caught:
        CALLS[function](case)
    assert isinstance(caught.value, SvmxError)


def test_each_refusal_is_one_of_something():
    """And each function supports at least one combination."""
    met = {id(refusal(*names)) for names in REFUSED}
    assert met == {id(one) for one in REFUSALS}
    assert all(combinations_of(function) for function in CALLS)
    assert {function for one in REFUSALS for function in one.functions} <= set(CALLS)


PROBABLE = {"c_path": "no probability estimates", "leave_one_out": "leave out -b 1", "cv_plus": "leave out probability"}


@pytest.mark.parametrize("function", PROBABLE)
def test_functions_that_make_no_use_of_probability_estimates(function):
    with pytest.raises(libsvmx.ParameterError, match=PROBABLE[function]):
        CALLS[function](Case("smo", "two classes", "rbf", probability=True))
