"""The end of a call: one time limit and one observer for everything that it does.

    limited(observer, seconds) -> Observer with a Token, made where a call begins;  control_of -> Control of one solve

A stopped solve has a result, feasible but not optimal. Work without a partial result raises Stopped, by ``ask`` or by
its Control, up to the function that knows what is left of the call: there it becomes StoppedEarly.
"""

from __future__ import annotations

from libsvmx._core.stopping import Control, ThreadControl, Token
from libsvmx._train.observer import Forwarding, Observer, hears
from libsvmx._train.parameter import Parameter
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped


def limited(observer: Observer, seconds: float) -> Observer:
    """The observer of a call, with its time limit from now on; within another call the observer as it is."""
    if observer.limits:
        return observer
    found = Forwarding(observer)
    found.limits = Token(seconds, observer.should_stop)
    found.should_stop = found.limits.interrupted  # type: ignore[method-assign]
    return found


def control_of(param: Parameter, observer: Observer, marks: bool = True) -> Control:
    """The Control of one solve, with the time limit of the call; without one, time starts now. ``marks``: tell them."""
    limits, steps = observer.limits, most_steps(param, observer)
    on_progress = observer.mark if marks else None
    if limits and limits.parent:  # of a thread
        return ThreadControl(param.eps, param.shrinking, steps, on_progress=on_progress).of(limits.parent)
    call = limits or Token(param.time_limit, observer.should_stop)
    on_gap = observer.solving if hears(observer, "solving") else None
    return Control(param.eps, param.shrinking, steps, on_progress=on_progress, on_gap=on_gap, parent=call)


def most_steps(param: Parameter, observer: Observer) -> int:
    """``max_iter`` of a Control."""
    return param.max_iter if observer.limits is None or observer.limits.steps else -1


def look(observer: Observer) -> SolveStatus | None:
    """The status that ends the call of an observer, None to go on."""
    if observer.limits:
        return observer.limits.look()
    return SolveStatus.INTERRUPTED if observer.should_stop() else None


def ask(observer: Observer) -> None:
    """Raises Stopped if the call must end."""
    status = look(observer)
    if status is not None:
        raise Stopped(status)
