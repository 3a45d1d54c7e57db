"""Every process of a run imports every test file: slow imports belong in the tests that need them."""

import ast
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from support.selection import cover

TESTS = Path(__file__).parent
# Packages that take a tenth of a second or much more to import.
LARGE = {"sklearn", "matplotlib", "dask", "distributed", "pandas", "polars", "joblib", "onnx", "onnxruntime", "sphinx"}
LARGE |= {"scipy.stats", "scipy.optimize", "scipy.interpolate", "libsvmx.sklearn"}


def imported(tree):
    """Imports at the top of a file: modules, and their names, which may be modules."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Assign | ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if getattr(call.func, "attr", "") == "importorskip":
                yield call.args[0].value


def large_ones(text):
    """Those imports that are, or are in, a large package."""
    names = imported(ast.parse(text))
    return [name for name in names if any(f"{name}.".startswith(f"{package}.") for package in LARGE)]


def test_no_file_imports_a_large_package():
    found = {path.name: large_ones(path.read_text(encoding="utf-8")) for path in TESTS.rglob("*.py")}
    assert len(found) > 200
    assert {name: large for name, large in found.items() if large} == {}, "support.optional imports later"


def test_imports_are_found():
    text = "import sklearn.svm\nfrom scipy import stats, sparse\ndef f():\n    import pandas\n"
    text += (
        "dask = pytest.importorskip('dask.array')\npytest.importorskip('joblib')\nfrom libsvmx.sklearn.base import x\n"
    )
    expected = ["sklearn.svm", "scipy.stats", "dask.array", "joblib", "libsvmx.sklearn.base.x"]
    assert large_ones(text) == expected


@pytest.mark.parametrize("strength", [1, 2, 3])
def test_a_cover_has_all_values_that_occur_together(strength):
    draw = np.random.default_rng(0)
    combos = [one for one in product("abc", range(4), [None, True], "xy") if draw.random() < 0.7]

    def parts(chosen):
        return {part for one in chosen for part in combinations(enumerate(one), strength)}

    chosen = cover(combos, strength)
    assert parts(combos[k] for k in chosen) == parts(combos)
    assert max(map(len, (set(column) for column in zip(*combos, strict=True)))) <= len(chosen) < len(combos)
    assert cover(combos, 9) == set(range(len(combos)))
    assert cover([], 2) == set()
