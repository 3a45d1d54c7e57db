"""Ctrl-C, or an error, at every bytecode and at every check of code that changes a state.

Afterwards the state is the old one or the new one, to the last bit, and NumPy has checked both. Later changes work
as if nothing had happened.
"""

from functools import cache

import numpy as np
import pytest
from support.exact import blobs, fingerprint, judge
from support.interrupts import Asked, Failure, fail, interrupted, points_of, press

import libsvmx
from libsvmx import KernelType, SvmType
from libsvmx._core.records import replace
from libsvmx._train.observer import Observer
from libsvmx._train.updating.left_out import values_left_out
from libsvmx._train.updating.state import State as BaseState
from libsvmx.exceptions import SvmxError
from libsvmx.io.statefile import state_bytes

# functions that make or roll back a change
FUNCTIONS = (
    "_make",
    "_look",
    "_settle",
    "keep",
    "changed",
    "moved",
    "mark",
    "commit",
    "rollback",
    "is_made",
    "for_each",
)
N, M = 10, 13  # rows before a change, and all rows ever present
X, Y = blobs(3, 60, 3)
ROWS, LABELS = X[Y < 3][:M], Y[Y < 3][:M]
TARGETS = LABELS + ROWS[:, 0]
K = np.exp(-0.5 * ((ROWS[:, None] - ROWS[None]) ** 2).sum(axis=2))
LONG = blobs(8, 1100)
THIRD = np.flatnonzero(Y == 3)[: M - N]


class Case:
    """Case(change, targets=LABELS, rows=ROWS, given=False, **options): a state of N rows, and a change of it.

    ``change(state, rows, targets, observer)``: the rows that may join, and their targets. ``given``: precomputed.
    """

    def __init__(self, change, targets=LABELS, rows=ROWS, given=False, **options):
        self.rows, self.targets, self.given = rows, targets, given
        first, kernel = (K[:N, :N], {"kernel_type": KernelType.PRECOMPUTED}) if given else (rows[:N], {"gamma": 0.5})
        self.first = libsvmx.train(first, targets[:N], keep_state=True, **kernel, **options)
        joining = K[N:] if given else rows[N:]
        self.change = lambda state, observer=None: change(state, joining, targets[N:], observer or Observer())

    @property
    def outcomes(self):
        """Images of the state, before and after the change."""
        new = self.made()
        self.change(new)
        return [self.images_of(state) for state in (self.made(), new)]

    def made(self):
        return self.first.copy()

    def images_of(self, state):
        """All bits of a state, and those after a row leaves."""
        found = self.image_of(state)
        state.remove([9])
        return found, self.image_of(state)

    def image_of(self, state):
        """All bits of a state. Raises AssertionError if it is not the optimum of its rows by NumPy."""
        model, ids, both = state.model, state.ids, None
        if self.given:  # the same kernel, computed
            model = replace(model, param=replace(model.param, kernel_type=KernelType.RBF, gamma=0.5))
        if model.param.svm_type == SvmType.NU_SVR:
            (binary,) = state.binaries.values()
            both = np.asarray(binary.state.coefficients).reshape(-1, 2)[np.argsort(binary.ids)].T.ravel()
        for part in judge(model, self.rows[ids], self.targets[ids], both):
            part.check()
        return repr(fingerprint(state)), state_bytes(state)


def come_and_go(state, rows, targets, observer):
    state.update(add=(rows, targets), remove=[1, 4], observer=observer)


CASES = {
    "rows come and go": lambda: Case(come_and_go, C=2.0),
    "rows come": lambda: Case(lambda state, rows, targets, told: state.add(rows, targets, observer=told), C=2.0),
    "rows go": lambda: Case(lambda state, rows, targets, told: state.remove([2, 3], observer=told), C=2.0),
    "a class comes": lambda: Case(
        come_and_go,
        np.concatenate([LABELS[:N], Y[THIRD]]),
        np.concatenate([ROWS[:N], X[THIRD]]),
        C=2.0,
    ),
    "another C": lambda: Case(lambda state, rows, targets, told: state.set_cost(7.0, told), C=2.0),
    "another nu": lambda: Case(lambda state, rows, targets, told: state.set_nu(0.3, told), svm_type=SvmType.NU_SVC),
    "check": lambda: Case(lambda state, rows, targets, told: state.check(told), C=2.0),
    "leave-one-out": lambda: Case(lambda state, rows, targets, told: values_left_out(state, told), C=2.0),
    "regression": lambda: Case(come_and_go, TARGETS, svm_type=SvmType.EPSILON_SVR, p=0.05),
    "regression by nu": lambda: Case(come_and_go, TARGETS, svm_type=SvmType.NU_SVR),
    "one class": lambda: Case(come_and_go, svm_type=SvmType.ONE_CLASS),
    "kernel values": lambda: Case(come_and_go, given=True, C=2.0),
}
case_of = cache(lambda name: CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_at_every_bytecode(name, exhaustive):
    case = case_of(name)
    outcomes, raised, new = case.outcomes, 0, 0
    for at in points_of(case.made, case.change, exhaustive, FUNCTIONS):
        state = case.made()
        raised += interrupted(lambda state=state: case.change(state), at, press if at % 2 else fail)
        found = case.images_of(state)
        assert found in outcomes, at
        new += found == outcomes[1]
    assert raised > 20
    assert new > 0


@pytest.mark.parametrize("made", [False, True], ids=["before it is made", "once it is made"])
@pytest.mark.parametrize("name", ["rows come and go", "a class comes", "kernel values", "another C"])
def test_another_time_while_the_first_is_dealt_with(name, made, exhaustive, monkeypatch):
    """The next use restores paths, or drops rows that left: interrupted at every bytecode of that, too."""
    case = case_of(name)

    def left_open():
        state = case.made()
        with monkeypatch.context() as patch:
            patch.setattr(BaseState, "_settle", lambda state: fail())
            if not made:
                patch.setattr("libsvmx._train.updating.state.Own.keep", lambda own, version: fail())
            with pytest.raises(Failure):
                case.change(state)
        assert state._opened is not None
        return state

    outcome = case.outcomes[made]
    raised = 0
    for at in points_of(left_open, BaseState.come_to_rest, exhaustive, FUNCTIONS):
        state = left_open()
        raised += interrupted(state.come_to_rest, at, press if at % 2 else fail)
        assert case.images_of(state) == outcome, at
    assert raised > 10


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("another C", "another nu", "check")])
def test_at_every_question(name):
    """Of an observer, which may send a signal; and at each of its reports."""
    case, count = case_of(name), Asked()
    outcomes = case.outcomes
    case.change(case.made(), count)
    assert count.count > 0
    for at in range(1, count.count + 1):
        for act in (fail, press):
            state = case.made()
            with pytest.raises((Failure, KeyboardInterrupt)):
                case.change(state, Asked(at, act))
            assert case.images_of(state) in outcomes, at


@pytest.mark.parametrize(
    "change",
    [
        lambda state, told: state.update((LONG[0][500:], LONG[1][500:]), range(50), observer=told),
        lambda state, told: state.set_cost(4.0, told),
    ],
)
def test_at_every_question_of_a_long_path(change):
    """The checks made by C in the middle of it."""
    first = libsvmx.train(LONG[0][:500], LONG[1][:500], keep_state=True, C=20.0, gamma=0.7)
    before, count = fingerprint(first.copy()), Asked()
    change(first.copy(), count)
    assert count.count > 0
    for at in range(1, count.count + 1):
        state = first.copy()
        with pytest.raises((Failure, KeyboardInterrupt)):
            change(state, Asked(at, press if at % 2 else fail))
        assert fingerprint(state) == before


class Looking(Observer):
    """Looking(state): uses the state at every check, gets an error, and catches it."""

    def __init__(self, state):
        self.state, self.refused = state, 0

    def should_stop(self):
        state = self.state
        for look in (lambda: state.model, lambda: state.gap, state.copy, lambda: state.remove([0]), state.check):
            with pytest.raises(SvmxError, match="being changed"):
                look()
            self.refused += 1
        return False


@pytest.mark.parametrize("name", ["rows come and go", "leave-one-out", "kernel values"])
def test_no_thread_sees_half_a_change(name):
    case = case_of(name)
    state = case.made()
    observer = Looking(state)
    case.change(state, observer)
    assert observer.refused
    assert case.images_of(state) == case.outcomes[1]


def test_nor_in_the_midst_of_a_long_path():
    state = libsvmx.train(LONG[0][:500], LONG[1][:500], keep_state=True, C=20.0, gamma=0.7)
    other, observer = state.copy(), Looking(state)
    state.set_cost(4.0, observer)
    other.set_cost(4.0)
    assert observer.refused
    assert fingerprint(state) == fingerprint(other)
