"""Linear and RBF kernel values while features are eliminated, and the importance of each feature.

With coefficients beta, |w|^2 = beta' K beta. Without feature f, whose values are x, K is K - x x' of a linear kernel,
and K_ij exp(gamma (x_i - x_j)^2) of an RBF kernel. With a few nodes v_k and functions L_k, 1 at v_k, 0 at others,

    sum_ij P_ij exp(gamma (x_i - x_j)^2) = sum_kl exp(gamma (v_k - v_l)^2) (L' P L)_kl,
    P_ij = beta_i beta_j K_ij,  L_ik = L_k(x_i)

where the nodes are all distinct values of x, or enough Chebyshev nodes for equality up to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebgauss, chebvander
from scipy.linalg.blas import dgemm

from libsvmx._kernels.kernel_matrix import values_of_products
from libsvmx._typing import FloatArray, IntArray
from libsvmx.enums import KernelType

# Ratio of all squares to those of the remaining features from which products are recomputed, for rounding.
SMALL = 1e4
# gamma (x_i - x_j)^2 up to which polynomials have little rounding, and up to which its exponential does not overflow K.
SMOOTH, FAR = 8.0, 300.0
# Distinct values used as nodes beyond SMOOTH; features processed at once.
FEW, AT_ONCE = 64, 16


class RemainingFeatures:
    """RemainingFeatures(X, is_rbf): inner products of all rows over the remaining features.

    Attributes
    ----------
    features : ndarray of int       remaining
    products : ndarray, shape (n, n)
    """

    def __init__(self, X: FloatArray, is_rbf: bool) -> None:
        self.is_rbf = is_rbf
        # centring keeps distances, with less rounding
        self.rows = X - X.mean(axis=0) if is_rbf else X
        self.values = [np.unique(column) for column in self.rows.T] if is_rbf else []
        self.features: IntArray = np.arange(X.shape[1], dtype=np.int32)
        self.places = self.features  # theirs among the columns of ``rows``
        self.recompute()

    def recompute(self) -> None:
        """Recompute products and squares, without accumulated rounding."""
        self.rows = self.rows[:, self.places]
        self.places = np.arange(len(self.features), dtype=np.int32)
        self.squares: FloatArray = np.square(self.rows).sum(axis=0)
        self.products: FloatArray = self.rows @ self.rows.T

    def leave_out(self, gone: IntArray) -> None:
        """Eliminate the features at these places of ``features``."""
        columns = self.rows[:, self.places[gone]]
        self.features, self.places = np.delete(self.features, gone), np.delete(self.places, gone)
        few = 2 * len(self.places) <= len(self.squares)  # in total less than twice the work of the first time
        if few or self.squares.sum() > SMALL * self.squares[self.places].sum():
            self.recompute()
        else:
            dgemm(-1.0, columns, columns, 1.0, self.products.T, trans_b=True, overwrite_c=True)

    def kernel(self, gamma: float) -> FloatArray:
        """Kernel values of all rows."""
        return rbf(self.products, gamma) if self.is_rbf else self.products

    def importances(self, K: FloatArray, gamma: float, betas: FloatArray) -> FloatArray:
        """Change of |w|^2 without each feature, summed over functions with coefficients ``betas`` of all rows."""
        if not self.is_rbf:
            weights: FloatArray = (betas @ self.rows)[:, self.places]
            return np.square(weights).sum(axis=0)
        used = np.flatnonzero(betas.any(axis=0))
        if not len(used):
            return np.zeros(len(self.places))
        pairs, betas, X = np.ix_(used, used), betas[:, used], self.rows[np.ix_(used, self.places)].T
        weights = betas.T @ betas
        P = K[pairs] * weights
        low, high = X.min(axis=1), X.max(axis=1)
        spread = gamma * np.square(high - low)
        n_values, n_nodes = np.array([len(self.values[f]) for f in self.features]), nodes_needed(0.25 * spread)
        by_value = n_values <= np.where(spread <= SMOOTH, n_nodes, FEW)
        sizes, found = np.where(by_value, n_values, -n_nodes), np.empty(len(X))
        anew = spread > np.where(by_value, FAR, SMOOTH)
        for size in np.unique(sizes[~anew]):
            group = np.flatnonzero((sizes == size) & ~anew)
            for some in np.array_split(group, -(-len(group) // AT_ONCE)):
                if size > 0:
                    nodes = np.array([self.values[f] for f in self.features[some]])
                    L = (X[some, :, None] == nodes[:, None]).astype(float)
                else:
                    nodes, L = chebyshev(X[some], low[some, None], high[some, None], -size)
                PL = (P @ L.transpose(1, 0, 2).reshape(len(used), -1)).reshape(len(used), len(some), -1)
                changes = np.expm1(gamma * np.square(nodes[:, :, None] - nodes[:, None]))
                found[some] = (changes * (L.transpose(0, 2, 1) @ PL.transpose(1, 0, 2))).sum(axis=(1, 2))
        products = self.products[pairs]
        for f in np.flatnonzero(anew):
            found[f] = P.sum() - (weights * rbf(products - np.outer(X[f], X[f]), gamma)).sum()
        return np.abs(found)


def rbf(products: FloatArray, gamma: float) -> FloatArray:
    """RBF kernel values from inner products."""
    return np.asarray(values_of_products(products.data, KernelType.RBF, gamma))


def nodes_needed(a: FloatArray) -> IntArray:
    """Number of nodes for which interpolation of exp(a (u - v)^2), u and v in [-1, 1], is exact up to rounding.

    Trefethen, Approximation theory and approximation practice, 2013, theorem 8.2: the error is, up to a factor, the
    maximum on an ellipse with half axes of sum rho, times rho^-n.
    """
    rho = np.geomspace(1.5, 1e4, 50)
    exponents = a[:, None] * np.square(0.5 * (rho + 1 / rho) + 1)
    return np.ceil(((exponents - np.log(1e-16)) / np.log(rho)).min(axis=1)).astype(int)


def chebyshev(X: FloatArray, low: FloatArray, high: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """n nodes in [low, high] (columns), and their Lagrange polynomials at X, each on an additional axis."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    nodes, _ = chebgauss(n)
    coefficients = 2.0 / n * chebvander(nodes, n - 1).T
    coefficients[0] /= 2.0
    return middle + half * nodes, chebvander((X - middle) / np.where(half > 0, half, 1.0), n - 1) @ coefficients
