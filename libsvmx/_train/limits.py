"""When a call has to come to an end: one time limit, and one answer of the observer, for all that it does.

    limited(observer, seconds) -> Observer with Limits, made where a call begins;  control_of -> Control of one solve

A solve that is ended has a result, feasible but not optimal. What has none in part raises Stopped, by ``ask`` or by its
Control, up to where the call knows what is left of it: there it becomes StoppedEarly.
"""

from __future__ import annotations

from libsvmx._solvers import control
from libsvmx._train.observer import Forwarding, Limits, hears
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped

if TYPE_CHECKING:
    from typing import Any

    from libsvmx._solvers.control import Control
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter


class Limited(Forwarding):
    """Limited(observer, limits): passes everything on, but asks whether to stop by way of ``limits``."""

    def __init__(self, observer: Observer, limits: Limits) -> None:
        super().__init__(observer)
        self.limits = limits

    def should_stop(self) -> bool:
        assert self.limits is not None
        return self.limits.should_stop()


def limited(observer: Observer, seconds: float) -> Observer:
    """The observer of one call, whose time begins now; where the call is part of another, as it is."""
    return observer if observer.limits else Limited(observer, Limits(seconds, observer.should_stop))


def control_of(param: Parameter, observer: Observer) -> Control:
    """The Control of one solve. Its time is that of the call; without one, it begins now."""
    if observer.limits and observer.limits.end:
        own = control.ThreadControl(param.eps, param.shrinking, most_steps(param, observer), on_progress=observer.mark)
        return own.of(observer.limits.end)
    return control.Control(*told_of(param, observer))


def told_of(param: Parameter, observer: Observer) -> tuple[Any, ...]:
    """What a Control is made with."""
    seconds, deadline = (0.0, observer.limits.deadline) if observer.limits else (param.time_limit, 0.0)
    on_gap = observer.solving if hears(observer, "solving") else None
    steps = most_steps(param, observer)
    return param.eps, param.shrinking, steps, seconds, observer.mark, observer.should_stop, deadline, on_gap


def most_steps(param: Parameter, observer: Observer) -> int:
    """``max_iter`` of a Control."""
    return param.max_iter if observer.limits is None or observer.limits.steps else -1


def look(observer: Observer) -> SolveStatus | None:
    """What has ended the call of an observer, None while it may go on."""
    if observer.limits:
        return observer.limits.look()
    return SolveStatus.INTERRUPTED if observer.should_stop() else None


def ask(observer: Observer) -> None:
    """Raises Stopped if the call has to come to an end."""
    status = look(observer)
    if status is not None:
        raise Stopped(status)
