"""Curves of an error over C: sums over folds, and their minima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from libsvmx._solvers.path.motion import CROSSING, LINE
from libsvmx._typing import FloatArray

# Errors with a smaller relative difference are equal: it may be due to the order of a sum.
TIE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """An error that is piecewise polynomial, of degree 2 or less.

    Attributes
    ----------
    C : ndarray, shape (m + 1,)           ascending; one value if the interval is a point
    pieces : ndarray, shape (m, 3)        error = a + b t + c t^2 on C[i] <= C < C[i + 1], t from 0 to 1; one piece if
    the interval is a point
    """

    C: FloatArray
    pieces: FloatArray

    def at(self, C: FloatArray) -> FloatArray:
        """The error at each C of an array, within the interval."""
        piece = np.clip(np.searchsorted(self.C, C, side="right") - 1, 0, len(self.pieces) - 1)
        widths = np.append(np.diff(self.C), 1.0)[piece]
        t = (C - self.C[piece]) / widths
        a, b, c = self.pieces[piece].T
        return a + t * (b + t * c)

    def least(self) -> tuple[float, float, float]:
        """(error, C, C): the least error, and its interval: of several, the one over which C grows by the largest
        factor, of equal ones the first."""
        a, b, c = self.pieces.T
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where((c > 0) & (b < 0) & (-b < 2 * c), -b / (2 * c), 0.0)
        t = np.where((inner == 0.0) & (b + c < 0), 1.0, inner)
        errors = a + t * (b + t * c)
        least = float(errors.min())
        near = least + TIE * abs(least)
        found: list[tuple[float, float]] = []
        ends = self.C[1:] if len(self.C) > 1 else self.C
        flat = (np.maximum(a, a + b + c) <= near) & (np.abs(c) <= TIE * max(abs(least), 1e-300))
        for k in np.flatnonzero(errors <= near).tolist():
            begin, end = float(self.C[k]), float(ends[k])
            if not flat[k]:
                begin = end = begin + float(t[k]) * (end - begin)
            if found and found[-1][1] == begin:
                found[-1] = found[-1][0], end
            else:
                found.append((begin, end))
        best = max(found, key=lambda interval: interval[1] / interval[0])
        return least, *best

    def widest_below(self, limit: float) -> tuple[float, float]:
        """For a step curve: the interval with errors of at most ``limit`` over which C grows by the largest factor."""
        inside = np.concatenate([[False], self.pieces[:, 0] <= limit, [False]])
        begins, ends = np.flatnonzero(inside[1:] & ~inside[:-1]), np.flatnonzero(inside[:-1] & ~inside[1:])
        ends = np.minimum(ends, len(self.C) - 1)  # if the interval of all C is a point
        widest = int(np.argmax(self.C[ends] / self.C[begins]))
        return float(self.C[begins[widest]]), float(self.C[ends[widest]])


def curve_of_errors(folds: Sequence[FloatArray], n: int, C_min: float, C_max: float) -> Curve:
    """The error in percent over n rows, from (C, change of the number of errors) of each fold."""
    changes = np.concatenate(folds)
    changes = changes[(changes[:, 0] < C_max) | (changes[:, 0] <= C_min)]
    places, at = np.unique(changes[:, 0], return_inverse=True)
    total = np.bincount(at, changes[:, 1])
    keep = (total != 0) | (places <= C_min)
    places, errors = places[keep], np.cumsum(total[keep])
    pieces = np.column_stack([100.0 * errors / n, np.zeros((len(errors), 2))])
    return Curve(np.append(places, C_max) if C_max > C_min else places, pieces)


def bent_lines(lines: FloatArray, bends: FloatArray) -> FloatArray:
    """Entries of a Trace of pinball losses, cut where a loss bends upwards."""
    cuts = bends.reshape(-1, CROSSING)
    cuts = cuts[np.lexsort((cuts[:, 0], cuts[:, 1]))]
    of = cuts[:, 1].astype(np.intp)
    has_length = lines[of, 0] < lines[of, 1]
    cuts, of = cuts[has_length], of[has_length]
    found = np.insert(lines, of + 1, lines[of], axis=0)
    at = of + 1 + np.arange(len(of))  # positions of the second part of each cut line
    more = cuts[:, 2] / (lines[of, 1] - lines[of, 0])
    for k, C, steeper in zip(at.tolist(), cuts[:, 0].tolist(), more.tolist(), strict=True):
        begin, end, value, growth = found[k - 1, [0, 1, LINE - 4, LINE - 3]]
        until = growth * (C - begin) / (end - begin) if end > C else growth
        found[k - 1, [1, LINE - 3]] = C, until
        found[k, [0, LINE - 4, LINE - 3]] = C, value + until, growth - until + steeper * (end - C)
    return found


def curve_of_losses(folds: Sequence[FloatArray], n: int, C_min: float, C_max: float) -> Curve:
    """The mean loss over n rows, from the lines of each fold, entries of a Trace."""
    begins = np.unique(np.concatenate([[C_min], *(lines[:, 0] for lines in folds)]))
    begins = begins[(begins < C_max) | (begins <= C_min)]
    ends = np.append(begins[1:], C_max)
    pieces = np.zeros((len(begins), 3))
    for lines in folds:
        own = np.clip(np.searchsorted(lines[:, 0], begins, side="right") - 1, 0, len(lines) - 1)
        first, width = lines[own, 0], lines[own, 1] - lines[own, 0]
        a, b, c = lines[own, LINE - 4 : LINE - 1].T
        width[width == 0] = 1.0
        scale, t = (ends - begins) / width, (begins - first) / width
        pieces += np.column_stack([a + t * (b + t * c), scale * (b + 2.0 * t * c), scale * scale * c])
    return Curve(np.append(begins, C_max) if C_max > C_min else begins, pieces / n)


def middle(begin: float, end: float) -> float:
    """The geometric mean of the ends of an interval."""
    return min(max(sqrt(begin) * sqrt(end), begin), end)
