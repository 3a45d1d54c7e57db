"""What the last change of a state has led to, so that somebody else can check it: optimality, and of which rows."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from libsvmx._train.problem import Problem
    from libsvmx._train.updating.transaction import UpdateReport
    from libsvmx._typing import Ids


def certificate_of(problem: Problem, ids: Ids, report: UpdateReport) -> dict[str, Any]:
    """The fields of the report, those that are not finite as None, with ``rows`` and their ``sha256``."""
    took = {name: value if isfinite(value) else None for name, value in asdict(report).items()}
    return {**took, "rows": len(ids), "sha256": digest_of(problem, ids)}


def digest_of(problem: Problem, ids: Ids) -> str:
    """SHA-256 of rows in the order of their ``ids``, in hexadecimal digits.

    Of these arrays, one after the other, in little-endian order: ids (int64); indptr (int64, from 0), indices (int32,
    LIBSVM's) and values (float64) of the features that are not 0; targets (float64); weights (float64), 1 for each row
    where there are none. ``problem`` has all rows of its matrix, in their order.
    """
    matrix, n = problem.matrix, len(problem)
    values = np.asarray(matrix.values)
    kept = values != 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[np.asarray(matrix.indptr)]
    weights = np.ones(n) if problem.sample_weight is None else problem.sample_weight
    digest = hashlib.sha256()
    for kind, array in (
        ("<i8", ids),
        ("<i8", indptr),
        ("<i4", np.asarray(matrix.indices)[kept]),
        ("<f8", values[kept]),
        ("<f8", problem.targets),
        ("<f8", weights),
    ):
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()
