"""The path to a large C from a small one."""

import pytest
from support.posed import classes, posed

from libsvmx._core.stopping import Control
from libsvmx._solvers.path import from_small_cost
from libsvmx._solvers.path.path import PathLost
from libsvmx.enums import SolveStatus, SvmType
from libsvmx.exceptions import Stopped


def along(case, control=None, most_bytes=1e8, most_free=()):
    return from_small_cost.solve(case.dual, case.kernel, 1e8, most_bytes, control or Control(1e-3), 1, most_free)


@pytest.mark.parametrize("C", [1.0, 100.0, 3e3, 1e6])
@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.EPSILON_SVR])
def test_it_ends_at_the_optimum(kind, C):
    X, y = classes(3, 200, 2)
    case = posed(kind, X, y, C=C, gamma=0.5)
    assert from_small_cost.leads_there(case.dual, case.kernel)
    case.check(along(case), 1e-9 * C)


def test_rows_that_a_path_puts_in_another_order():
    """With this many rows in the margin, distant ones are shrunk for a while and ordered last."""
    X, y = classes(4, 1000, 2)
    case = posed(SvmType.C_SVC, X, y, C=1e3, gamma=20.0, weights=(1.0, 3.0))
    case.check(along(case), 1e-6)


@pytest.mark.parametrize("kind", [SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR])
def test_where_no_path_leads(kind):
    X, y = classes(3, 60)
    case = posed(kind, X, y)
    assert not from_small_cost.leads_there(case.dual, case.kernel)


def test_a_margin_that_has_no_room_and_a_call_that_is_ended():
    X, y = classes(3, 200, 2)
    case = posed(SvmType.C_SVC, X, y, C=1e6, gamma=0.5)
    with pytest.raises(PathLost):
        along(case, most_bytes=8)
    for steps in (0.1, 1.0, 1000.0):
        case.check(along(case, most_free=((steps, 100),)), 1e-3)
        with pytest.raises(PathLost):
            along(case, most_free=((steps, 1),))
    ended = Control(1e-3)
    ended.stop(SolveStatus.INTERRUPTED)
    with pytest.raises(Stopped):
        along(case, ended)


def test_the_expected_work_grows_with_each_argument():
    known = from_small_cost.expected_ns(1000, 50, 3)
    assert known < from_small_cost.expected_ns(2000, 50, 3)
    assert known < from_small_cost.expected_ns(1000, 100, 3)
    assert known < from_small_cost.expected_ns(1000, 50, 4)
