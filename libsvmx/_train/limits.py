"""What a solve is told of tolerance, limits and progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.control import Control

if TYPE_CHECKING:
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter


def control_of(param: Parameter, observer: Observer) -> Control:
    """The Control of one solve, whose time begins now."""
    return Control(param.eps, param.shrinking, param.max_iter, param.time_limit, observer.mark, observer.should_stop)
