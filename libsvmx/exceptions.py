"""Errors a caller can act on. All derive from ValueError, so ``except ValueError`` catches them. And warnings."""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from libsvmx.enums import SolveStatus

# libsvmx, what runs its context managers, and what calls its estimators
OURS = ("libsvmx", "contextlib", "sklearn")


class TooLittleMemory(MemoryError):
    """Known before the work begins. The message says how much is needed, and how much there is."""


class ConvergenceWarning(UserWarning):
    """A training ended before its tolerance was reached: the result is feasible, not optimal."""


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line outside libsvmx that led here, through however many functions of libsvmx."""
    import sys
    import warnings

    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class SvmxError(ValueError):
    """Base of every error raised for bad input.

    ``classes`` are the labels of the classes at fault, in the order in which the message names them, for a caller who
    knows them by other names.
    """

    classes: tuple[float, ...] = ()


class ParameterError(SvmxError):
    """An option or parameter has a value that no training can use."""

    def __init__(self, cause: str, classes: tuple[float, ...] = ()):
        super().__init__(cause)
        self.classes = classes


class DataError(SvmxError):
    """The data cannot be used for this training or prediction.

    ``row`` is the 0-based row at fault, or None when no single row is; readers
    of files turn it into a line number.
    """

    def __init__(self, cause: str, row: int | None = None, classes: tuple[float, ...] = ()):
        super().__init__(cause if row is None else f"row {row}: {cause}")
        self.classes = classes
        self.cause = cause
        self.row = row


class Stopped(Exception):
    """Raised within libsvmx, between two pieces of work that are to come to an end.

    ``status``: TIME_LIMIT or INTERRUPTED. What a call makes of it is a result, or StoppedEarly.
    """

    def __init__(self, status: SolveStatus):
        super().__init__(status)
        self.status = status


class StoppedEarly(SvmxError):
    """A time limit or an observer ended a call without a complete result, such as a cross-validation.

    Attributes
    ----------
    status : SolveStatus
        TIME_LIMIT or INTERRUPTED.
    partial : object
        Result so far, of the type that the call returns; None if there is none.
    """

    def __init__(self, status: SolveStatus, consequence: str, partial: Any = None):
        super().__init__(f"{status}: {consequence}")
        self.status, self.consequence, self.partial = status, consequence, partial

    def __reduce__(self) -> tuple[type[StoppedEarly], tuple[SolveStatus, str, Any]]:
        return type(self), (self.status, self.consequence, self.partial)


class FormatError(SvmxError):
    """A file does not follow its format. ``line`` and ``column`` count from 1; 0 means the whole file or line."""

    def __init__(self, path: str, line: int, column: int, cause: str):
        where = f"{path}:{line}:{column}" if column else f"{path}:{line}" if line else path
        super().__init__(f"{where}: {cause}")
        self.path = path
        self.line = line
        self.column = column
        self.cause = cause

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, int, int, str]]:
        return type(self), (self.path, self.line, self.column, self.cause)
