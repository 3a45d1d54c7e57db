"""LIBSVM's random draws by the C library's rand(): folds, and the permutations of a permutation test."""

import ctypes

import numpy as np

_libc = ctypes.CDLL(None)


class Rand:
    """rand() of the C library after srand(seed); its state is global, so use one at a time."""

    def __init__(self, seed=1):
        _libc.srand(seed)

    def shuffled(self, items):
        """Fisher-Yates in LIBSVM's order."""
        items = np.array(items)
        for i in range(len(items)):
            j = i + _libc.rand() % (len(items) - i)
            items[i], items[j] = items[j], items[i]
        return items

    def plain_folds(self, n, k):
        """The rows of each fold, in the order drawn."""
        order = self.shuffled(np.arange(n))
        return [order[f * n // k : (f + 1) * n // k] for f in range(k)]

    def stratified_folds(self, y, k):
        """Stratified folds. Classes are ordered by first row, except +1 before -1."""
        labels = list(dict.fromkeys(y.tolist()))
        if labels == [-1.0, 1.0]:
            labels.reverse()
        rows = [self.shuffled(np.flatnonzero(y == label)) for label in labels]
        return [np.concatenate([own[f * len(own) // k : (f + 1) * len(own) // k] for own in rows]) for f in range(k)]

    def folds(self, y, k, stratified):
        """The folds of svm_cross_validation."""
        return self.stratified_folds(y, k) if stratified and k < len(y) else self.plain_folds(len(y), k)
