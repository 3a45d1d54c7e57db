"""Kernel values of a single test row equal those of a panel, bit for bit."""

import numpy as np
import pytest
from libsvmx._kernels.cross import CrossKernel, CrossRow
from support import data

from libsvmx._core.buffers import filled
from libsvmx.enums import KernelType

KINDS = [KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID]
LANES = 32


def rows_of(rng, n, features, density, values):
    """n rows over these features, each present with this probability."""
    chosen = rng.random((n, len(features))) < density
    return [[(int(features[f]), float(values(f))) for f in np.flatnonzero(row)] for row in chosen]


def check(kernel, tests):
    """``values`` and the rest of the row equal those of panels for all rows, in two rounds."""
    n, row = kernel.vectors.n_rows, CrossRow(kernel)
    for i in [*range(tests.n_rows), *range(tests.n_rows)]:
        values, margins = kernel.block(tests, filled("i", [i]))
        expected = np.asarray(values).reshape(-1, LANES)[:n, 0]
        assert np.array_equal(np.asarray(row.values(tests, i)), expected)
        assert row.exact == kernel.exact
        assert row.margin == margins[0]


SORTS = {
    "normal": lambda rng: lambda f: rng.standard_normal(),
    "ones": lambda rng: lambda f: 1.0,
    "integers": lambda rng: lambda f: float(rng.integers(-3, 4)),  # zeros, too
    "one value a feature": lambda rng: lambda f: 0.25 + f / 8,
    "huge and tiny": lambda rng: lambda f: 10.0 ** rng.integers(-170, 150) * rng.choice([-1, 1]),
}


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("density", [0.02, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_a_panel(kind, density, sort, approximate):
    rng = np.random.default_rng([kind, int(100 * density), len(sort)])
    n = 70 if density > 0.1 else 2500  # several tiles of postings
    value = SORTS[sort](rng)
    vectors = data.from_rows([*rows_of(rng, n, np.arange(2, 62), density, value), []])
    tests = data.from_rows([*rows_of(rng, 6, np.arange(0, 75, 1), density, value), [], [(70, 2.0)], [(0, -1.0)]])
    check(CrossKernel(vectors, kind, 3, 0.3, -0.7, approximate), tests)


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_features_with_huge_indices(kind, approximate):
    rng = np.random.default_rng(kind)
    features = np.sort(rng.choice(2**31 - 2, 80, replace=False)) + 1
    vectors = data.from_rows(rows_of(rng, 50, features[::2], 0.3, SORTS["normal"](rng)))
    tests = data.from_rows(rows_of(rng, 8, features, 0.5, SORTS["normal"](rng)))
    check(CrossKernel(vectors, kind, 2, 0.3, 0.7, approximate), tests)


def test_without_vectors_or_entries():
    tests = data.from_rows([[(1, 0.5)], []])
    for vectors in (data.from_rows([]), data.from_rows([[], []])):
        check(CrossKernel(vectors, KernelType.RBF, 0, 1.0, 0.0), tests)
        check(CrossKernel(vectors, KernelType.LINEAR, 0, 1.0, 0.0), tests)


def test_refusals():
    tests = data.from_rows([[(1, 0.5)]])
    row = CrossRow(CrossKernel(tests, KernelType.RBF, 0, 1.0, 0.0))
    for i in (-1, 1):
        with pytest.raises(IndexError, match=f"row {i} of 1"):
            row.values(tests, i)
    given = data.from_rows([[(0, 1.0)]])
    with pytest.raises(ValueError, match="given"):
        CrossRow(CrossKernel(given, KernelType.PRECOMPUTED, 0, 1.0, 0.0))
