"""Ctrl-C: from another thread, or at any point of a call where CPython handles signals.

CPython checks for signals at the start of a function, after the return of a call and at the turn of a loop (RESUME,
CALL, JUMP_BACKWARD). The exception is raised by that instruction, so nothing can come between a call and the use of
its result, if a ``with`` or ``try`` begins or ends there: such places are not points.
"""

import dis
import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import pytest

from libsvmx._train.observer import Observer

FIRST, NEXT = 0.2, 10.0  # seconds


@contextmanager
def ctrl_c():
    """The block runs until a KeyboardInterrupt ends it.

    Ctrl-C is repeated, as Python drops exceptions in finalizers. A file opened but not yet entered by its ``with`` is
    closed by Python, with a warning."""
    over = threading.Event()

    def press():
        wait = FIRST
        while not over.wait(wait):
            signal.raise_signal(signal.SIGINT)
            wait = NEXT

    presser = threading.Thread(target=press)
    presser.start()
    try:
        with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
            warnings.simplefilter("ignore", ResourceWarning)
            yield
    finally:
        over.set()
        presser.join()


# ---- at every bytecode, and at every check -----------------------------------------------------------

SPREAD = 8  # number of points anywhere that a quick run tries


class Failure(Exception):
    """An exception of an observer or a signal handler."""


def fail():
    raise Failure


def press():
    """A real signal, whose handler raises KeyboardInterrupt."""
    signal.raise_signal(signal.SIGINT)


class Point(NamedTuple):
    """``differs``: a call or an assignment since the previous point may have changed an object that outlives the
    call."""

    file: str
    function: str
    line: int
    differs: bool


class Points:
    """Points(at=0, act=fail): as a context finds the points of libsvmx's Python code, and calls ``act`` at one of them.

    Attributes
    ----------
    found : list of Point      so far; the last one is the point of ``act``
    """

    def __init__(self, at=0, act=fail):
        self.at, self.act, self.found = at, act, []

    def __enter__(self):
        self.before = sys.gettrace(), sys.getprofile(), sys.unraisablehook
        sys.unraisablehook = lambda given: None  # exceptions in finalizers are dropped
        sys.setprofile(self.profiled)
        sys.settrace(self.traced)
        return self

    def __exit__(self, *raised):
        sys.settrace(self.before[0])
        sys.setprofile(self.before[1])
        sys.unraisablehook = self.before[2]

    def point(self, frame, differs=True):
        if len(self.found) != self.at or not self.at:
            self.found.append(Point(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, differs))
            if len(self.found) == self.at:
                self.act()

    def traced(self, frame, event, arg):
        """Called when a function begins."""
        if not is_own(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last = before = frame.f_lasti  # the last instruction that handles signals, and the last one
        catches, looks, changes = places_of(frame.f_code)
        self.point(frame)

        def step(frame, event, arg):
            nonlocal last, before
            if event == "opcode":
                here = frame.f_lasti
                if catches(here) == catches(last):
                    self.point(frame, before in changes)
                if here in looks:
                    last = here
                before = here
            return step

        return step

    def profiled(self, frame, event, arg):
        """Called when a C function returns."""
        if event == "c_return" and is_own(frame.f_code.co_filename):
            self.point(frame)


@cache
def is_own(file):
    """Whether code belongs to libsvmx, or to its context managers."""
    return f"{os.sep}libsvmx{os.sep}" in file or os.path.basename(file) == "contextlib.py"


@cache
def places_of(code):
    """(catches, looks, changes): where an exception at an offset is caught; offsets of instructions that handle
    signals, and of those after which an object that outlives the call may have changed."""
    bytecode = dis.Bytecode(code)
    looks = {
        each.offset for each in bytecode if each.opname.startswith(("CALL", "RESUME")) or each.opname == "JUMP_BACKWARD"
    }
    kinds = ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR")
    changes = looks | {each.offset for each in bytecode if each.opname.startswith(kinds)}
    ranges = [(each.start, each.end, each.target) for each in bytecode.exception_entries]

    @cache
    def catches(offset):
        return next((target for start, end, target in ranges if start <= offset < end), None)

    return catches, frozenset(looks), frozenset(changes)


def points_of(make, call, exhaustive, functions):
    """The points of ``call(make())`` to try: with LIBSVMX_INTERRUPTS=all every point; with ``exhaustive`` those that
    may differ from the one before; else one on each line of these ``functions``, and some anywhere."""
    call(make())  # does the imports and look-ups of a first call
    points, made = Points(), make()
    with points:
        call(made)
    every = range(1, len(points.found) + 1)
    if os.environ.get("LIBSVMX_INTERRUPTS") == "all":
        return every
    if exhaustive:
        return [at for at, point in zip(every, points.found, strict=True) if point.differs]
    of_line = {}
    for at, point in zip(every, points.found, strict=True):
        if point.function in functions:
            of_line.setdefault(point[:3], []).append(at)
    return sorted({at[len(at) // 2] for at in of_line.values()} | set(every[:: 1 + len(every) // SPREAD]))


def interrupted(call, at, act=fail):
    """``call`` with ``act`` at one of its points; returns whether its exception was raised, not dropped."""
    points = Points(at, act)
    try:
        with points:
            call()
    except (Failure, KeyboardInterrupt):
        return True
    return False


class Asked(Observer):
    """Asked(at=0, act=fail): counts checks and reports, and calls ``act`` at one of them."""

    def __init__(self, at=0, act=fail):
        self.at, self.act, self.count = at, act, 0

    def heard(self):
        self.count += 1
        if self.count == self.at:
            self.act()

    def should_stop(self):
        self.heard()
        return False

    def counted(self, what, done, total):
        self.heard()

    def remark(self, kind, detail=""):
        self.heard()
