"""The rows that an estimator keeps, and the state to which rows are added and from which they are removed.

    KeptRows: rows, class codes or targets, weights   ──follow──>   State (libsvmx._train.updating)

A class gets the next free code when its first row arrives, and keeps it; ``labels[code]`` is the class.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.limits import limited
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.updating.from_model import state_at
from libsvmx._train.updating.precomputed import tests_of
from libsvmx._train.updating.state import check_kept
from libsvmx._train.updating.version import Version
from libsvmx._typing import FloatArray, Ids, IntArray
from libsvmx.api.arrays import csr_of_parts, parts_of_csr
from libsvmx.api.state import State
from libsvmx.io.statefile import state_bytes, state_of_bytes
from libsvmx.sklearn.training import TrainingData

# parameters that must not change: a state can follow C and nu only
FIXED = ("kernel", "degree", "gamma", "coef0", "epsilon", "class_weight")


class KeptRows:
    """KeptRows(problem, labels, sparse, given, saved=None)

    Pickled as plain arrays, and the state as the bytes of a state file; ``problem`` and ``saved`` accept these.

    A change of the rows makes a new object (``at``), which the estimator takes in one assignment; both share the state.

    Attributes
    ----------
    labels : ndarray or None       class of each code; None in regression
    sparse : bool                  whether the first rows were sparse, and so the attributes
    given : dict                   the estimator's parameters that must not change
    lock : RLock                   held during a change
    """

    __slots__ = ("given", "kept", "labels", "lock", "saved", "sparse", "standing")

    def __init__(
        self, problem: Any, labels: Any, sparse: bool, given: dict[str, Any], saved: bytes | None = None
    ) -> None:
        if isinstance(problem, tuple):
            matrix, targets, weights = problem
            weights = None if weights is None else weights.data
            problem = Problem(csr_of_parts(matrix), targets.data, sample_weight=weights)
        self.kept: Problem | None = problem
        self.labels, self.sparse, self.given = labels, sparse, given
        self.standing: tuple[State, Version] | None = None
        self.saved = saved  # bytes of a state not yet read since unpickling
        self.lock = RLock()

    @classmethod
    def of_training(cls, data: TrainingData, labels: Any, sparse: bool, given: dict[str, Any]) -> KeptRows:
        """All rows of a training in the given order, including those of weight 0."""
        matrix, part = data.problem.matrix, data.problem
        n = matrix.n_rows
        counting = np.arange(n) if data.chosen is None else data.chosen
        targets, weights = np.zeros(n), np.zeros(n)
        targets[counting] = part.targets
        weights[counting] = 1.0 if part.sample_weight is None else part.sample_weight
        weighted = None if (weights == 1).all() else weights.data
        return cls(Problem(matrix, targets.data, sample_weight=weighted), labels, sparse, given)

    def at(self, version: Version, labels: Any) -> KeptRows:
        """The rows of another version of the state, with the labels known by then."""
        assert self.standing is not None
        other = KeptRows(None, labels, self.sparse, self.given)
        other.standing, other.lock = (self.standing[0], version), self.lock
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        saved = self.saved if self.standing is None else state_bytes(self.standing[0])
        rows = None
        if self.kept is not None:
            weights = self.kept.sample_weight
            weights = None if weights is None else np.asarray(weights)
            rows = parts_of_csr(self.kept.matrix), np.asarray(self.kept.targets), weights
        return type(self), (rows, self.labels, self.sparse, self.given, saved)

    @property
    def state(self) -> State | None:
        """The state, if one was made."""
        if self.standing is None and self.saved is not None:
            with self.lock:
                if self.standing is None:
                    state = state_of_bytes(self.saved, "the pickled state", State)
                    self.standing = state, state.version
                    self.saved = None
        return None if self.standing is None else self.standing[0]

    @property
    def version(self) -> Version | None:
        """The version of the state with these rows, if a state was made."""
        return None if self.state is None or self.standing is None else self.standing[1]

    @property
    def problem(self) -> Problem:
        """All rows, with class codes or targets, and weights."""
        found = self.kept if self.version is None else self.version.problem
        assert found is not None
        return found

    @property
    def tests(self) -> CsrMatrix:
        """The rows of the state as test rows of a model."""
        return self.problem.matrix if self.next_id is None else tests_of(self.problem)

    @property
    def next_id(self) -> int | None:
        """Number of rows ever given, with a precomputed kernel; else None."""
        version = self.version
        if version is not None:
            return version.next_id if version.table is not None else None
        return len(self.problem) if self.given["kernel"] == "precomputed" else None

    @property
    def ids(self) -> Ids:
        """Ids of the rows, ascending: ndarray of int64."""
        return np.arange(len(self.problem)) if self.version is None else self.version.ids.copy()

    @property
    def model(self) -> Model:
        """The model of the state, with sorted classes as labels 0, 1, …."""
        assert self.version is not None
        return self.version.model if self.labels is None else self.version.model_by_class(self.classes()[1])

    def make_state(self, model: Model, weights: tuple[tuple[int, float], ...], observer: Observer) -> State:
        """A state of all rows, from a model trained on those of positive weight, sorted by class.

        ``weights``: factors of C by code. Raises ParameterError, StoppedEarly.
        """
        problem = self.problem
        param = replace(model.param, probability=False, weights=weights)
        check_kept(param)
        observer = limited(observer, param.time_limit)
        rows = counting_order(problem, self.labels is not None)
        assert model.row_numbers is not None
        made = state_at(problem, param, model, rows[np.asarray(model.row_numbers) - 1], observer, State)
        self.standing = made, made.version
        self.kept = None
        return made

    def add_labels(self, labels: list[Any]) -> None:
        """Give codes to classes without rows yet."""
        fresh = np.array([label for label in labels if label not in self.labels.tolist()])
        if len(fresh) and _kind(fresh) == _kind(self.labels):
            self.labels = self.codes(fresh)[1]

    def codes(self, y: Any) -> tuple[FloatArray, Any]:
        """Codes of the labels y, and the labels of all codes. Raises ValueError for labels of another kind."""
        if _kind(y) != _kind(self.labels):
            raise ValueError(f"labels are of type {y.dtype}, those before of type {self.labels.dtype}")
        known = self.labels.tolist()
        fresh = [label for label in np.unique(y).tolist() if label not in known]
        code_of = {label: code for code, label in enumerate(known + fresh)}
        labels = np.concatenate([self.labels, np.array(fresh, dtype=y.dtype)]) if fresh else self.labels
        return np.array([code_of[label] for label in y.tolist()], dtype=np.float64), labels

    def classes(self, rows: Any = None) -> tuple[Any, list[int]]:
        """Sorted classes of the rows of positive weight, and their codes. ``rows``: a mask; None: all rows."""
        problem = self.problem
        counts = counting(problem)
        if rows is not None:
            counts &= rows
        codes = np.unique(np.asarray(problem.targets)[counts]).astype(int)
        order = np.argsort(self.labels[codes], kind="stable")
        return self.labels[codes][order], codes[order].tolist()


def counting(problem: Problem) -> Any:
    """Mask of the rows of positive weight."""
    weights = problem.sample_weight
    return np.ones(len(problem), bool) if weights is None else np.asarray(weights) > 0


def counting_order(problem: Problem, by_class: bool) -> IntArray:
    """Indices of the rows of positive weight, in training order."""
    rows = np.flatnonzero(counting(problem)).astype(np.int32)
    return rows[np.argsort(np.asarray(problem.targets)[rows], kind="stable")] if by_class else rows


def _kind(labels: Any) -> str:
    """Kind of labels that can be sorted together: numbers, text (also as objects), or other."""
    kind: str = labels.dtype.kind
    return "number" if kind in "iubf" else "text" if kind in "UO" else kind


def _unpickled(rows: Any, labels: Any, sparse: bool, given: dict[str, Any], saved: bytes | None) -> KeptRows:
    """Called by pickles of earlier versions."""
    problem = None
    if rows is not None:
        matrix, targets, weights = rows
        doubles = [None if raw is None else memoryview(raw).cast("d") for raw in (targets, weights)]
        assert doubles[0] is not None
        problem = Problem(matrix, doubles[0], sample_weight=doubles[1])
    return KeptRows(problem, labels, sparse, given, saved)
