"""The Python interface reports results that are not optimal, accepts names, and helps with wrong ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from support.injected import put_around

import libsvmx
from libsvmx import ConvergenceWarning, KernelType, Observer, Parameter, ParameterError, SvmType
from libsvmx._train.observer import Remark
from libsvmx._train.updating import transaction
from libsvmx.api.warned import WHAT_TO_DO
from libsvmx.enums import SolveStatus

HEART = str(Path(__file__).parents[1] / "data" / "heart_scale")
X, Y = libsvmx.read_problem(HEART)
MANY = np.arange(270) % 3


class Stop(Observer):
    def should_stop(self) -> bool:
        return True


CALLS = {
    "train": lambda **more: libsvmx.train(X, Y, C=50, **more),
    "three classes": lambda **more: libsvmx.train(X, MANY, C=50, **more),
    "probability": lambda **more: libsvmx.train(X, Y, C=50, probability=True, **more),
    "keep_state": lambda **more: libsvmx.train(X, Y, C=50, keep_state=True, **more),
    "cross_validate": lambda **more: libsvmx.cross_validate(X, Y, 3, C=50, **more),
    "leave_one_out": lambda **more: libsvmx.leave_one_out(X[::9], Y[::9], C=50, **more),
    "grid_search": lambda **more: libsvmx.grid_search(X, Y, (3, 5, 2), (-1, -3, -2), 3, seeder=None, **more),
}


@pytest.mark.parametrize("call", [name for name in CALLS if name != "leave_one_out"])
def test_no_warning_at_an_optimum(call: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call]()


def test_other_early_stops() -> None:
    with pytest.warns(ConvergenceWarning, match=r"interrupted.*should_stop"):
        model = libsvmx.train(X, Y, observer=Stop())
    assert set(model.statuses) == {"interrupted"}
    with pytest.warns(ConvergenceWarning, match=r"time limit.*time_limit"):
        libsvmx.train(X, Y, C=1e5, gamma=1, time_limit=1e-9)
    assert issubclass(ConvergenceWarning, UserWarning)


STATE_CALLS = {
    "add": lambda state: state.add(X[:2], Y[:2]),
    "remove": lambda state: state.remove([1]),
    "update": lambda state: state.update(remove=[2]),
    "set_cost": lambda state: state.set_cost(3),
}


@pytest.mark.parametrize("call", STATE_CALLS)
def test_a_warning_points_at_the_caller_however_deep_it_is(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = libsvmx.train(X[:40], Y[:40], keep_state=True)

    def mark(known: Callable[..., object], own: transaction.Transaction, *more: object) -> object:
        own.observer.remark(Remark.ROUNDING)
        return known(own, *more)

    put_around(monkeypatch, transaction.Transaction, "mark", mark)
    with pytest.warns(ConvergenceWarning, match="raise eps") as caught:
        STATE_CALLS[call](state)
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]


def test_each_status_has_words_of_what_helps() -> None:
    assert {str(kind) for kind in WHAT_TO_DO} == {str(status) for status in SolveStatus} - {"converged"}


def test_the_observer_is_told_as_well() -> None:
    told: list[str] = []

    class Told(Observer):
        def remark(self, kind: object, detail: str = "") -> None:
            told.append(str(kind))

        def solved(self, report: object) -> None:
            told.append("solved")

    with pytest.warns(ConvergenceWarning):
        libsvmx.train(X, Y, max_iter=3, observer=Told())
    assert told == ["iteration limit", "solved"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("linear", 0),
        ("LINEAR", 0),
        ("poly", 1),
        ("Polynomial", 1),
        ("rbf", 2),
        ("sigmoid", 3),
        ("precomputed", 4),
        (3, 3),
    ],
)
def test_kernels_by_name(given: object, expected: int) -> None:
    assert Parameter(kernel_type=given).kernel_type is KernelType(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("c_svc", 0),
        ("C-SVC", 0),
        ("nu_svc", 1),
        ("one-class", 2),
        ("ONE_CLASS", 2),
        ("epsilon_svr", 3),
        ("Nu-SVR", 4),
        (1, 1),
    ],
)
def test_formulations_by_name(given: object, expected: int) -> None:
    assert Parameter(svm_type=given).svm_type is SvmType(expected)  # type: ignore[arg-type]
    assert libsvmx.train(X, Y, svm_type=given).param.svm_type == expected


@pytest.mark.parametrize("wrong", ["gauss", "", "rbf ", 99, None, 1.5, [0]])
def test_unknown_names(wrong: object) -> None:
    with pytest.raises(ParameterError, match="choose one of 0 LINEAR, 1 POLY"):
        libsvmx.train(X, Y, kernel_type=wrong)
    with pytest.raises(ParameterError, match="choose one of 0 C_SVC"):
        libsvmx.train(X, Y, svm_type=wrong)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("c", "C"), ("gama", "gamma"), ("Gamma", "gamma"), ("maxiter", "max_iter"),
        ("svmtype", "svm_type"),
    ],
)  # fmt: skip
def test_unknown_keywords(wrong: str, meant: str) -> None:
    for call in CALLS.values():
        with pytest.raises(
            ParameterError, match=f"there is no parameter {wrong}; did you mean {meant}\\? Known are C, "
        ):
            call(**{wrong: 1})


def test_a_word_for_another() -> None:
    for call in CALLS.values():
        with pytest.raises(ParameterError, match=r"^cost is called C here$"):
            call(cost=1)


FOLDED = {
    "cross_validate": lambda **more: libsvmx.cross_validate(X, Y, **more).predictions,
    "grid_search": lambda **more: libsvmx.grid_search(X, Y, (3, 5, 2), (-1, -3, -2), **more).rate,
    "permutation_test": lambda **more: libsvmx.permutation_test(X, Y, 2, **more).scores,
    "c_path": lambda **more: libsvmx.c_path(X[::9], Y[::9], 1.0, 2.0, gamma=0.1, **more).best_C,
    "cv_plus": lambda **more: libsvmx.cv_plus(X, Y, X[::9], **more).p_values,
}


@pytest.mark.parametrize("call", FOLDED)
def test_a_number_of_folds_by_either_word(call: str) -> None:
    one, other = FOLDED[call](n_folds=3), FOLDED[call](cv=3)
    assert np.array_equal(one, other)
    with pytest.raises(ParameterError, match="is called n_folds here: give one of them"):
        FOLDED[call](n_folds=3, cv=3)
    with pytest.raises(ParameterError, match="must be a whole number"):
        FOLDED[call](cv="many")


def test_a_number_of_folds_is_needed() -> None:
    with pytest.raises(ParameterError, match="a number of folds is needed: n_folds=5"):
        libsvmx.cross_validate(X, Y)


def test_keywords_like_no_other() -> None:
    with pytest.raises(ParameterError, match=r"there is no parameter zzz; solver smo has no settings\. Known are C,"):
        libsvmx.train(X, Y, zzz=1)
    with pytest.raises(ParameterError, match="working_set is of solver"):
        libsvmx.train(X, Y, working_set=9)


def test_gamma_by_name() -> None:
    dense = X.toarray()
    n = dense.shape[1]
    assert libsvmx.train(X, Y, gamma="auto").param.gamma == 1 / n
    assert libsvmx.train(dense, Y, gamma="scale").param.gamma == 1 / (n * dense.var())
    assert libsvmx.train(dense.tolist(), Y, gamma="scale").param.gamma == 1 / (n * dense.var())
    mappings = [dict(X.row(i)) for i in range(len(X))]
    for form in (X, sparse.csr_array(X), mappings):
        assert libsvmx.train(form, Y, gamma="scale").param.gamma == pytest.approx(1 / (n * dense.var()), rel=1e-12)
    wide = np.column_stack((dense, np.zeros(270)))
    assert libsvmx.cross_validate(wide, Y, 3, gamma="auto").folds
    assert libsvmx.train(wide, Y, gamma="auto").param.gamma == 1 / (n + 1)
    assert libsvmx.train(np.ones((4, 2)), [1, -1, 1, -1], gamma="scale").param.gamma == 1.0
    with pytest.raises(ParameterError, match="'scale' or 'auto', not 'Scale'"):
        libsvmx.train(X, Y, gamma="Scale")
    with pytest.raises(libsvmx.DataError, match="has none"):
        libsvmx.train(np.zeros((2, 2)), [1, -1], gamma="scale")


def test_gamma_as_scikit_learn_has_it() -> None:
    svm = pytest.importorskip("sklearn.svm")
    for form in (X.toarray(), X.tocsr()):
        for name in ("scale", "auto"):
            assert libsvmx.train(form, Y, gamma=name).param.gamma == svm.SVC(gamma=name).fit(form, Y)._gamma
