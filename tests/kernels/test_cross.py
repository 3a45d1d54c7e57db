"""Kernel values for prediction: LIBSVM's own, and approximate ones with a valid error bound."""

import math

import numpy as np
import pytest
from libsvmx._core.arrays import ramp
from libsvmx._kernels.cross import CrossKernel
from support import data

from libsvmx._core.buffers import filled
from libsvmx.enums import KernelType

LANES = 32


def reference(x, z, kind, degree, gamma, coef0):
    """LIBSVM's k_function on two lists of (index, value)."""
    if kind == KernelType.RBF:
        total = 0.0
        x, z = dict(x), dict(z)
        for f in sorted(x.keys() | z.keys()):
            d = x.get(f, 0.0) - z.get(f, 0.0)
            total += d * d
        return math.exp(-gamma * total)
    z = dict(z)
    dot = 0.0
    for f, v in x:
        if f in z:
            dot += v * z[f]
    if kind == KernelType.LINEAR:
        return dot
    if kind == KernelType.SIGMOID:
        return math.tanh(gamma * dot + coef0)
    base, result, t = gamma * dot + coef0, 1.0, degree
    while t > 0:
        if t % 2 == 1:
            result *= base
        base *= base
        t //= 2
    return result


def sparse_rows(rng, n, width, density=0.5, scale=1.0):
    rows = []
    for _ in range(n):
        values = rng.standard_normal(width) * scale
        rows.append([(f + 1, float(v)) for f, v in enumerate(values) if rng.random() < density])
    return rows


def values_of(kernel, tests, n_vectors):
    """(n_tests, n_vectors) and the margins."""
    values, margins = kernel.block(tests, ramp(tests.n_rows))
    table = np.asarray(values).reshape(-1, LANES)[:n_vectors, : tests.n_rows].T
    return table, np.array(margins)


@pytest.mark.parametrize("kind", [KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID])
@pytest.mark.parametrize("n_tests", [1, 15, 32])
@pytest.mark.parametrize("density", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("ones", [False, True])
def test_exact_values_are_libsvms(kind, n_tests, density, ones):
    rng = np.random.default_rng([kind, n_tests, int(10 * density)])
    x, z = sparse_rows(rng, n_tests, 40, density), sparse_rows(rng, 70, 47, density)
    if ones:
        x, z = ([[(f, 1.0) for f, _ in row] for row in rows] for rows in (x, z))
    tests, vectors = data.from_rows(x), data.from_rows(z)
    kernel = CrossKernel(vectors, kind, 5, 0.3, 0.7)
    values, margins = values_of(kernel, tests, 70)
    assert kernel.exact
    assert not margins.any()
    assert values.tolist() == [[reference(a, b, kind, 5, 0.3, 0.7) for b in z] for a in x]


def test_integers_are_exact_even_where_an_approximation_would_do():
    rng = np.random.default_rng(1)
    x, z = ([[(f, float(round(3 * v))) for f, v in row] for row in sparse_rows(rng, 32, 30)] for _ in range(2))
    kernel = CrossKernel(data.from_rows(z), KernelType.RBF, 0, 0.01, 0.0, approximate=True)
    values, _ = values_of(kernel, data.from_rows(x), 32)
    assert kernel.exact
    assert values.tolist() == [[reference(a, b, KernelType.RBF, 0, 0.01, 0.0) for b in z] for a in x]
    x[3][0] = (x[3][0][0], 0.5)
    values_of(kernel, data.from_rows(x), 32)
    assert not kernel.exact
    x[3][0] = (x[3][0][0], 1e3)  # an integer, but its distances exceed any table
    values_of(kernel, data.from_rows(x), 32)
    assert not kernel.exact


NASTY = [1e-200, 1e-160, 1e-155, 1e-30, 1e-8, 1e-3, 1.0, 30.0, 1e6, 1e100, 1e153, 1e160]


@pytest.mark.parametrize("kind", [KernelType.RBF, KernelType.SIGMOID])
@pytest.mark.parametrize("scale", NASTY)
@pytest.mark.parametrize("closeness", [1.0, 1e-8, 1e-15, 0.0])
def test_the_bound_holds(kind, scale, closeness):
    """Against LIBSVM's own values: rows near and far, distances that cancel, exponents of all sizes."""
    rng = np.random.default_rng([kind, int(1e9 * closeness) % 97])
    z = sparse_rows(rng, 40, 25, 0.7, scale)
    noise = sparse_rows(rng, 40, 25, 1.0, scale * closeness)
    x = [[(f, v + dict(extra)[f]) for f, v in row] for row, extra in zip(z, noise, strict=True)][:LANES]
    tests, vectors = data.from_rows(x), data.from_rows(z)
    told = 0
    for gamma in (1e-300, 1e-3 / scale / scale, 1 / scale / scale, 50.0, 1e300):
        if gamma in (0, math.inf):
            continue
        for coef0 in (0.0, -2.0, 30.0):
            exact, _ = values_of(CrossKernel(vectors, kind, 0, gamma, coef0), tests, 40)
            about = CrossKernel(vectors, kind, 0, gamma, coef0, approximate=True)
            values, margins = values_of(about, tests, 40)
            assert not about.exact
            for r, margin in enumerate(margins):
                if math.isfinite(margin):
                    told += 1
                    assert np.abs(values[r] - exact[r]).max() <= margin
    assert told or scale > 1e150


def test_bound_is_small_on_ordinary_data():
    tests, _ = data.load("vowel.scale.xz", 32)
    kernel = CrossKernel(data.load("vowel.scale.xz", 100)[0], KernelType.RBF, 0, 2.0, 0.0, approximate=True)
    _, margins = values_of(kernel, tests, 100)
    assert not kernel.exact
    assert 0 < max(margins) < 1e-11


def test_no_vectors_and_no_rows():
    tests, none = data.from_rows([[(1, 0.5)], []]), data.from_rows([])
    kernel = CrossKernel(none, KernelType.RBF, 0, 1.0, 0.0)
    assert values_of(kernel, tests, 0)[0].size == 0
    with pytest.raises(ValueError, match="panel"):
        kernel.block(tests, filled("i", []))


def test_one_kernel_many_calls():
    """Panels of other widths in between leave no trace."""
    rng = np.random.default_rng(5)
    z = sparse_rows(rng, 9, 20)
    for approximate in (False, True):
        kernel = CrossKernel(data.from_rows(z), KernelType.RBF, 0, 0.2, 0.0, approximate)
        for width, n in ((30, 32), (5, 3), (200, 32), (1, 1), (70_000, 2), (12, 20)):
            x = sparse_rows(rng, n, width, min(1.0, 30 / width))
            values, margins = values_of(kernel, data.from_rows(x), 9)
            expected = np.array([[reference(a, b, KernelType.RBF, 0, 0.2, 0.0) for b in z] for a in x])
            assert (np.abs(values - expected).max(axis=1) <= margins).all()
