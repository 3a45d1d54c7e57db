"""``cv_results_`` of a search, with the keys of GridSearchCV."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from libsvmx._typing import FloatArray
from libsvmx.sklearn.search_folds import Scores


def results_of(points: list[dict[str, Any]], scores: Scores) -> dict[str, Any]:
    """``cv_results_``; ``points``: parameters by name, in the order of the search."""
    results: dict[str, Any] = {}
    for key, seconds in (("fit_time", scores.fit_time), ("score_time", scores.score_time)):
        results[f"mean_{key}"], results[f"std_{key}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in points[0]:
        values = [point[name] for point in points]
        plain = not any(isinstance(value, (str, tuple)) for value in values)
        results[f"param_{name}"] = np.ma.MaskedArray(np.array(values) if plain else objects(values), mask=False)
    results["params"] = points
    for f in range(scores.score.shape[1]):
        results[f"split{f}_test_score"] = scores.score[:, f].copy()
    mean = scores.score.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, scores.score.std(axis=1)
    results["rank_test_score"] = ranks_of(mean)
    return results


def objects(values: list[Any]) -> Any:
    """An array of one object for each value, also of a tuple."""
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def ranks_of(mean: FloatArray) -> Any:
    """Ranks: 1 for the highest score, equal scores share the smallest rank, nan is last."""
    if np.isnan(mean).all():
        return np.ones(len(mean), dtype=np.int32)
    known = np.where(np.isnan(mean), np.nanmin(mean) - 1, mean)
    return rankdata(-known, method="min").astype(np.int32)
