"""What a state is between two changes, and what becomes of a change that is interrupted.

    Version  ──shares paths with──>  the Version after it

A change moves the paths of binary problems where they are, and builds the Version after it beside the one before. It
is made by one assignment, of its Keeper: until then the old version holds, from then on the new one, wherever Ctrl-C or
an error comes. What moves is written down in an Opened before it does. Whoever needs the paths next finds it there, and
brings them to where the version that holds has them (``State._settle``).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from libsvmx._core.records import replace
from libsvmx._train import folds
from libsvmx._train.updating.to_model import assembled, model_of
from libsvmx._train.updating.transaction import largest_gap
from libsvmx._train.zero_weights import rows_of_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from libsvmx._solvers.path.path_state import PathState
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.updating.binary_problem import BinaryProblem, Pair
    from libsvmx._train.updating.precomputed import Table
    from libsvmx._train.updating.transaction import UpdateReport
    from libsvmx._typing import Ids


@dataclass(slots=True, eq=False)
class Version:
    """A state between two changes; nothing of it is ever assigned again, but the paths move with the next change.

    Attributes
    ----------
    param : Parameter
    problem : Problem                    its rows
    ids : ndarray of int64, shape (n,)   their ids, ascending
    next_id : int
    table : Table or None                of a precomputed kernel
    binaries : dict of BinaryProblem     by pair of classes
    report : UpdateReport                of the change that has led here
    """

    param: Parameter
    problem: Problem
    ids: Ids
    next_id: int
    table: Table | None
    binaries: dict[Pair, BinaryProblem]
    report: UpdateReport
    known_model: Model | None = field(default=None, init=False)

    @property
    def model(self) -> Model:
        """The model of the rows, as a training on them in the order of their ids would give it."""
        if self.known_model is None:
            self.known_model = model_of(self.param, self.problem, self.ids, self.binaries)
        return self.known_model

    def model_by_class(self, labels: Sequence[int]) -> Model:
        """The model as a training on the rows sorted by class would give it, its classes called 0, 1, …: ``labels``,
        all classes of rows that count, in the order that they are to have."""
        rows = rows_of_state(self.problem, self.param)
        rank = {label: at for at, label in enumerate(labels)}
        targets = np.asarray(self.problem.targets)[rows].astype(np.int64).tolist()
        order = rows[np.argsort([rank[label] for label in targets], kind="stable")]
        # their places are never -1 and +1, which LIBSVM takes in an order of its own
        places = np.sort([float(rank[label]) for label in targets])
        _, start, by_class = folds.group_classes(places.data)
        classes = list(labels), start, by_class
        model = assembled(self.param, self.problem.take(order.data), self.ids[order], self.binaries, classes)
        assert model.row_numbers is not None
        numbers = (order + 1)[np.asarray(model.row_numbers) - 1].astype(np.int32)
        return replace(model, class_labels=tuple(range(len(labels))), row_numbers=numbers.data)

    @property
    def gap(self) -> float:
        """Largest KKT gap of any dual problem over all its rows."""
        return largest_gap(self.binaries)

    @property
    def objective(self) -> float:
        """Sum of the objectives of all dual problems."""
        return sum(binary.state.objective() for binary in self.binaries.values())


class Keeper(Protocol):
    """Who owns a state: keeps its version, perhaps beside what is made of it."""

    def version(self) -> Version | None:
        """The version that holds."""

    def keep(self, version: Version) -> None:
        """From one assignment in here on, this version holds."""


class Opened:
    """Opened(keeper): a change that begins, in the function that makes this.

    Attributes
    ----------
    moving : list of PathState      that are marked, so that they can come back
    after : Version or None         once it is complete
    """

    __slots__ = ("after", "frame", "keeper", "moving")

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.moving: list[PathState] = []
        self.after: Version | None = None
        self.frame: FrameType | None = sys._getframe(1)  # None once it is over

    def rollback(self) -> None:
        """All paths as they were; an interrupted call is made again."""
        for state in self.moving:
            state.rollback()

    def commit(self) -> None:
        """No way back: rows that have left are gone. Cannot fail; an interrupted call is made again."""
        for state in self.moving:
            state.discard()
            state.forget()
            state.release()

    def comes_from_here(self) -> None:
        """It is the caller that works on it now."""
        self.frame = sys._getframe(1)

    @property
    def is_under_way(self) -> bool:
        """Whether it has led here, by way of an observer or a signal handler; else it was interrupted.

        No flag could tell: Ctrl-C may come before a ``finally`` that takes it back.
        """
        at: FrameType | None = sys._getframe()
        while at is not None and at is not self.frame:
            at = at.f_back
        return at is not None

    @property
    def is_made(self) -> bool:
        """Whether the version after it is the one that holds."""
        return self.after is not None and self.keeper.version() is self.after
