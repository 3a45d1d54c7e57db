"""A verifiable record of the last change of a state: optimality, and a digest of the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from libsvmx._train.problem import Problem
from libsvmx._train.updating.precomputed import serials_of, sorted_rows
from libsvmx._train.updating.transaction import UpdateReport
from libsvmx._typing import Ids


def certificate_of(problem: Problem, ids: Ids, report: UpdateReport, given: bool) -> dict[str, Any]:
    """The fields of the report, None for values that are not finite, with ``rows`` and their ``sha256``; ``given``:
    precomputed kernel."""
    took = {name: value if isfinite(value) else None for name, value in asdict(report).items()}
    return {**took, "rows": len(ids), "sha256": digest_of(problem, ids, given)}


def digest_of(problem: Problem, ids: Ids, given: bool) -> str:
    """SHA-256 of rows in the order of their ``ids``, in hexadecimal digits.

    Digests these arrays in turn, in little-endian order: ids (int64); indptr (int64, from 0), indices (int32, LIBSVM's)
    and values (float64) of the nonzero features; targets (float64); weights (float64), all 1 without weights. A row of
    a precomputed kernel (``given``) has its serial number at index 0, and its kernel values at the serial numbers of
    the present rows; otherwise ``problem`` has all rows of its matrix, in order.
    """
    weights = np.ones(len(problem)) if problem.sample_weight is None else problem.sample_weight
    digest = hashlib.sha256()
    digest.update(np.ascontiguousarray(ids, dtype="<i8").data)
    for part in parts_of_given(problem) if given else parts_of(problem):
        digest.update(np.ascontiguousarray(part).data)
    for array in (problem.targets, weights):
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    return digest.hexdigest()


def parts_of(problem: Problem) -> Iterator[Any]:
    """indptr, indices and values of all rows of a matrix, without zeros, in the types of the digest."""
    matrix = problem.matrix
    values = np.asarray(matrix.values)
    kept = values != 0
    yield np.concatenate([[0], np.cumsum(kept)])[np.asarray(matrix.indptr)].astype("<i8")
    yield np.asarray(matrix.indices)[kept].astype("<i4")
    yield values[kept].astype("<f8")


def parts_of_given(problem: Problem) -> Iterator[Any]:
    """The same for a precomputed kernel; row by row, which saves a copy."""
    yield np.cumsum([0, *(1 + np.count_nonzero(values) for _, values in sorted_rows(problem))]).astype("<i8")
    for numbers, values in sorted_rows(problem):
        yield np.concatenate([[0], numbers[values != 0]]).astype("<i4")
    for serial, (_, values) in zip(serials_of(problem), sorted_rows(problem), strict=True):
        yield np.concatenate([[serial], values[values != 0]]).astype("<f8")
