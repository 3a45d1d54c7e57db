"""A state between two changes, and recovery from an interrupted change.

    Version  ──shares paths with──>  the next Version

A change moves the paths of the binary problems in place and builds the next Version beside the present one. Its Keeper
commits it by one assignment: the old version is valid before, the new one after, wherever Ctrl-C or an error comes. An
Opened lists the paths before they move; the next user of the paths finds it and moves them to where the valid version
has them (``State._settle``).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

import numpy as np

from libsvmx._core.records import replace
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.path.path_state import PathState
from libsvmx._train import folds
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import BinaryProblem, Pair
from libsvmx._train.updating.precomputed import Table
from libsvmx._train.updating.to_model import assembled, model_of
from libsvmx._train.updating.transaction import UpdateReport, largest_gap
from libsvmx._train.zero_weights import rows_of_state
from libsvmx._typing import Ids


@dataclass(slots=True, eq=False)
class Version:
    """A state between two changes: immutable, except that its paths move with the next change.

    Attributes
    ----------
    param : Parameter
    problem : Problem                    its rows
    ids : ndarray of int64, shape (n,)   their ids, ascending
    next_id : int
    table : Table or None                of a precomputed kernel
    binaries : dict of BinaryProblem     by pair of classes
    report : UpdateReport                of the last change
    kernel : Kernel or None              of its rows, for the next change; None: to be made
    """

    param: Parameter
    problem: Problem
    ids: Ids
    next_id: int
    table: Table | None
    binaries: dict[Pair, BinaryProblem]
    report: UpdateReport
    kernel: Kernel | None = None
    known_model: Model | None = field(default=None, init=False)

    @property
    def model(self) -> Model:
        """The model, equal to that of a training on the rows in the order of their ids."""
        if self.known_model is None:
            self.known_model = model_of(self.param, self.problem, self.ids, self.binaries)
        return self.known_model

    def model_by_class(self, labels: Sequence[int]) -> Model:
        """The model of a training on the rows sorted by class, with classes called 0, 1, … in the order of ``labels``,
        which are all classes with rows of weight > 0."""
        rows = rows_of_state(self.problem, self.param)
        rank = {label: at for at, label in enumerate(labels)}
        targets = np.asarray(self.problem.targets)[rows].astype(np.int64).tolist()
        order = rows[np.argsort([rank[label] for label in targets], kind="stable")]
        # places are >= 0, so LIBSVM's special order of -1 and +1 does not apply
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
    """The owner of a state's version: the state, or an estimator with attributes made from it."""

    def version(self) -> Version | None:
        """The valid version."""

    def keep(self, version: Version) -> None:
        """Make ``version`` the valid one, by one assignment."""


class Opened:
    """Opened(keeper): a change in progress, run by the function that creates this.

    Attributes
    ----------
    moving : list of PathState      marked for a rollback
    after : Version or None         the next version, once complete
    """

    __slots__ = ("after", "frame", "keeper", "moving")

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.moving: list[PathState] = []
        self.after: Version | None = None
        self.frame: FrameType | None = sys._getframe(1)  # None after the change

    def rollback(self) -> None:
        """Restore all paths; an interrupted call is repeated."""
        for state in self.moving:
            state.rollback()

    def commit(self) -> None:
        """Give up the rollback and the removed rows. Cannot fail; an interrupted call is repeated."""
        for state in self.moving:
            state.discard()
            state.forget()
            state.release()

    def comes_from_here(self) -> None:
        """Make the caller the function that runs the change."""
        self.frame = sys._getframe(1)

    @property
    def is_under_way(self) -> bool:
        """Whether the change is on the call stack, as in an observer or a signal handler; else it was interrupted.

        A flag would not do: Ctrl-C may come before the ``finally`` that resets it.
        """
        at: FrameType | None = sys._getframe()
        while at is not None and at is not self.frame:
            at = at.f_back
        return at is not None

    @property
    def is_made(self) -> bool:
        """Whether the next version is the valid one."""
        return self.after is not None and self.keeper.version() is self.after
