"""A DualProblem from labels and back, for oracles in terms of LIBSVM's alpha: beta = y alpha, 0 <= alpha <= C."""

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._solvers.dual import DualProblem


def labelled(y, linear, C, alpha, row, two_groups=False, V=None):
    """The problem of these variables; with two groups those of y = -1 are the second."""
    y, C = np.asarray(y, dtype=float), np.asarray(C, dtype=float)
    return DualProblem(
        filled("d", linear),
        filled("d", np.where(y > 0, 0.0, -C)),
        filled("d", np.where(y > 0, C, 0.0)),
        filled("b", [1 if two_groups and sign < 0 else 0 for sign in y]),
        filled("i", row),
        filled("d", y * np.asarray(alpha, dtype=float)),
        None if V is None else filled("d", V),
    )


def labels_of(dual):
    """y, float64: -1 where beta may be negative."""
    return np.where((np.asarray(dual.lower) < 0) | (np.asarray(dual.group) > 0), -1.0, 1.0)


def costs_of(dual):
    """C."""
    return np.asarray(dual.upper) - np.asarray(dual.lower)


def alpha_of(dual, solution):
    """alpha of a solution, or of the start if that is the problem itself."""
    return labels_of(dual) * np.asarray(solution.beta)
