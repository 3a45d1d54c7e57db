"""The kernel of any selection of a problem's rows, for all the solves of a training, a cross-validation or a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._kernels.kernel import Kernel
from libsvmx._kernels.sharedrows import SharedRows, all_bytes
from libsvmx.enums import KernelType

if TYPE_CHECKING:
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer

MEGABYTE = 1 << 20
# All rows are shared if they fit this share of the memory; the rest is for the rows of the solve at hand. With room for
# some only, the others would be computed in a store that has become too small for them.
SHARED = 0.75
# Values dearer than this, in nanoseconds, are worth sharing: to gather one costs a third of it. Problems whose values
# all fit so many bytes are not measured.
DEAR_NS = 1.75
SMALL_BYTES = 1 << 19


class Kernels:
    """Kernels(problem, param, groups=None, repeated=False)

    Parameters
    ----------
    problem : Problem        all the rows
    param : Parameter        kernel and memory; what else it says may differ from solve to solve
    groups : (list of int, buffer of int32)     first position of each class in an order of the rows, and the end;
                                                the order. Solves over pairs of classes share rows within a class
    repeated : bool          whether solves will be over the same pairs of classes, or over nearly all rows, again

    Attributes
    ----------
    budget_bytes : float     for a solve's own rows
    shared : SharedRows or None
    """

    __slots__ = ("budget_bytes", "number", "shared", "whole")

    def __init__(
        self, problem: Problem, param: Parameter, groups: tuple[list[int], Buffer] | None = None, repeated: bool = False
    ):
        starts, rows = [0, len(problem)], problem.rows
        if groups:
            starts, rows = groups[0], take_int32(rows, groups[1])
        self.number = zeros("i", problem.features.n_rows)
        for k, row in enumerate(rows):
            self.number[row] = k
        self.whole = Kernel(problem.features, rows, param.kernel_type, param.degree, param.gamma, param.coef0)
        self.budget_bytes = param.cache_size * MEGABYTE
        self.shared = self.worth_sharing(starts, repeated)
        if self.shared:
            self.budget_bytes -= self.shared.most_bytes

    def worth_sharing(self, starts: list[int], repeated: bool) -> SharedRows | None:
        """Shared rows, if values are dear and there is room for them all, or for those of rows of the same class."""
        if self.whole.kind == KernelType.PRECOMPUTED or self.whole.binary:
            return None
        choices = []
        if repeated:  # of two classes, no pair leaves out one
            choices.append((starts if len(starts) > 3 else [0, self.whole.n], True))
        if len(starts) > 3:
            choices.append((starts, False))
        for segments, across in choices:
            needed = all_bytes(segments, across)
            if needed <= SHARED * self.budget_bytes:
                shared = SharedRows(self.whole, SHARED * self.budget_bytes, segments, across)
                return shared if needed <= SMALL_BYTES or shared.value_ns() > DEAR_NS else None
        return None

    def of(self, problem: Problem) -> Kernel:
        """The kernel of the rows of ``problem``, which are among those of the whole."""
        members = take_int32(self.number, problem.rows)
        return self.shared.part(members) if self.shared else self.whole.part(members)
