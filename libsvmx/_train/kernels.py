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
# Of the memory there is, this share goes to shared rows, the rest to the rows of the solve at hand. Sharing wants room
# for one in so many of all values: support vectors are as many, and each solve would have found that room for itself.
SHARED = 0.75
WANTED = 1 / 3
# Values dearer than this, in nanoseconds, are worth sharing: to gather one costs a quarter of it. Problems whose values
# all fit so many bytes are not measured.
DEAR_NS = 2.0
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
            self.budget_bytes -= self.shared.budget_bytes

    def worth_sharing(self, starts: list[int], repeated: bool) -> SharedRows | None:
        """Shared rows, if values are dear and there is room for them."""
        if self.whole.kind == KernelType.PRECOMPUTED or self.whole.binary:
            return None
        if len(starts) <= 3 and repeated:  # no pair leaves out a class
            starts = [0, self.whole.n]
        for across in (True, False) if repeated else (False,):
            if not across and len(starts) <= 3:
                continue
            needed = all_bytes(starts, across)
            room = min(SHARED * self.budget_bytes, needed)
            if room < SHARED * WANTED * needed:
                continue
            shared = SharedRows(self.whole, room, starts, across)
            if needed <= SMALL_BYTES or shared.value_ns() > DEAR_NS:
                return shared
            break
        return None

    def of(self, problem: Problem) -> Kernel:
        """The kernel of the rows of ``problem``, which are among those of the whole."""
        members = take_int32(self.number, problem.rows)
        return self.shared.part(members) if self.shared else self.whole.part(members)
