"""Features far from 0: squared distances |x|^2 + |z|^2 - 2 x'z, as in the RBF kernel, are mostly rounding error."""

import numpy as np
import pytest
from support import data

import libsvmx
from libsvmx.enums import KernelType

RNG = np.random.default_rng(0)
X = RNG.integers(0, 40, size=(60, 3)) / 4
Y = np.where((X[:, 0] - 5) ** 2 + (X[:, 1] - 5) ** 2 < 16, 1.0, -1.0)
OFFSET = np.array([1.6e8, 1.5e8, 0.0])
ORDINARY = [
    *("heart_scale", "ionosphere_scale.xz", "a1a.xz", "breast-cancer.xz", "iris.scale"),
    *("glass.scale", "wine.scale", "vowel.scale.xz", "mushrooms.xz", "splice.xz", "heart.xz"),
]


def test_a_training_warns_of_an_offset():
    with pytest.warns(UserWarning, match=r"feature 1 \(160000000 to 16000000.* is far from 0 for its range"):
        libsvmx.train(X + OFFSET, Y, gamma=0.5, C=10)


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "rational_quadratic"])
def test_so_does_one_by_another_kernel_of_distances(kernel):
    with pytest.warns(UserWarning, match=r"feature 1 \(160000000 to 16000000.* is far from 0 for its range"):
        libsvmx.train(X + OFFSET, Y, gamma=0.5, kernel_type=kernel)
    plan = libsvmx.explain_training(X + OFFSET, Y, gamma=0.5, kernel_type=kernel)
    assert [one.kind for one in plan.warnings if one.kind == "offset"] == ["offset"]


@pytest.mark.parametrize("kernel", ["laplacian", "linear"])
def test_others_have_no_such_errors(kernel):
    plan = libsvmx.explain_training(X + OFFSET, Y, gamma=0.5, kernel_type=kernel)
    assert not [one for one in plan.warnings if one.kind == "offset"]


class Failing(libsvmx.Observer):
    def solved(self, report):
        raise RuntimeError("solved")


def test_a_training_that_fails_warns_too():
    with pytest.warns(UserWarning, match="far from 0 for its range"), pytest.raises(RuntimeError, match="solved"):
        libsvmx.train(X + OFFSET, Y, gamma=0.5, C=10, observer=Failing())


THREE = Y + 2 * (X[:, 2] > 5)
FAR = X + OFFSET
OPTIONS = {"gamma": 0.5, "C": 10}
OTHERS = {
    "several classes": lambda: libsvmx.train(FAR, THREE, **OPTIONS),
    "a state": lambda: libsvmx.train(FAR, Y, keep_state=True, **OPTIONS),
    "several trainings": lambda: libsvmx.fit_many(FAR, np.column_stack([Y, -Y]), **OPTIONS),
    "folds": lambda: libsvmx.cross_validate(FAR, Y, 3, **OPTIONS),
    "seeded folds of several classes": lambda: libsvmx.cross_validate(FAR, THREE, 3, seeder="sir", **OPTIONS),
    "leave-one-out": lambda: libsvmx.leave_one_out(FAR, Y, **OPTIONS),
    "a grid": lambda: libsvmx.grid_search(FAR, Y, log2c=(0, 2, 1), log2g=(-30, -1, 29)),
    "an estimator": lambda: libsvmx.SVC(**OPTIONS).fit(FAR, Y),
    "estimators over the same rows": lambda: libsvmx.OneVsRestSVC(**OPTIONS).fit(FAR, THREE),
    "an estimator with nu": lambda: libsvmx.NuSVC(gamma=0.5, nu=0.1).fit(FAR, Y),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_calls_warn_too(name):
    """Each warns once."""
    if "estimator" in name:
        pytest.importorskip("sklearn")
    with pytest.warns(UserWarning) as caught:
        OTHERS[name]()
    assert sum("is far from 0" in str(one.message) for one in caught) == 1


def test_it_does_not_where_nothing_depends_on_it():
    libsvmx.train(X + OFFSET, Y, gamma=1e-6)


def test_wide_features_have_no_offset():
    """Distances are as large as the values."""
    libsvmx.train(X * 1.5e8, Y, gamma=0.5)


def test_the_plan_names_the_features():
    plan = libsvmx.explain_training(X + OFFSET, Y, gamma=0.5)
    (advice,) = (one for one in plan.warnings if one.kind == "offset")
    assert advice.text.startswith("features 1 (160000000 to ")
    assert ", 2 (150000000 to " in advice.text
    assert ", 3 (" not in advice.text


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_sets_give_no_warning(name):
    rows, y = data.load(name)
    plan = libsvmx.explain_training(rows, y, kernel_type=KernelType.RBF)
    assert not [one for one in plan.warnings if one.kind == "offset"]


def test_a_command_says_so_but_with_q(folder):
    rows = zip(Y, (X + OFFSET).tolist(), strict=True)
    lines = (f"{y:g} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for y, row in rows)
    folder.put("rows", "\n".join(lines) + "\n")
    assert "is far from 0" in folder.accepts("svmx-train", "-g", "0.5", "rows", "model")[0]
    assert folder.accepts("svmx-train", "-q", "-g", "0.5", "rows", "model")[0] == ""
