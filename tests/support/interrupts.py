"""Ctrl-C: pressed by another thread, or at any place of a call where CPython may let a signal in.

CPython looks for signals where a function begins, where a call has returned and where a loop turns (RESUME, CALL,
JUMP_BACKWARD). What is raised there is raised by that instruction, so nothing can come between a call and what is done
with its result, if a ``with`` or ``try`` begins or ends there: such places are no points.
"""

import dis
import signal
import sys
import threading
from contextlib import contextmanager
from functools import cache

import pytest

from libsvmx._train.observer import Observer

FIRST, NEXT = 0.2, 10.0  # seconds


@contextmanager
def ctrl_c():
    """The block goes on until a KeyboardInterrupt ends it.

    It is pressed again and again: Python drops what is raised while it ends an object that nobody has."""
    over = threading.Event()

    def press():
        wait = FIRST
        while not over.wait(wait):
            signal.raise_signal(signal.SIGINT)
            wait = NEXT

    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        over.set()
        presser.join()


# ---- at every bytecode, and at every question --------------------------------------------------------

SPREAD = 12  # points that a quick run tries anywhere


class Failure(Exception):
    """What an observer or a signal handler may raise."""


def fail():
    raise Failure


def press():
    """A real signal, whose handler raises KeyboardInterrupt."""
    signal.raise_signal(signal.SIGINT)


class Points:
    """Points(at=0, act=fail): ``with`` it finds the points of all Python frames in its block, and calls ``act`` at one.

    Attributes
    ----------
    found : list of (str, str, int)      file, function and line of each so far; the last one is that of ``act``
    """

    def __init__(self, at=0, act=fail):
        self.at, self.act, self.found = at, act, []

    def __enter__(self):
        self.before = sys.gettrace(), sys.getprofile(), sys.unraisablehook
        sys.unraisablehook = lambda given: None  # what is raised while an object ends is dropped
        sys.setprofile(self.profiled)
        sys.settrace(self.traced)
        return self

    def __exit__(self, *raised):
        sys.settrace(self.before[0])
        sys.setprofile(self.before[1])
        sys.unraisablehook = self.before[2]

    def point(self, frame):
        if len(self.found) != self.at or not self.at:
            self.found.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno))
            if len(self.found) == self.at:
                self.act()

    def traced(self, frame, event, arg):
        """Of a function that begins."""
        if frame.f_code.co_filename == __file__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last = frame.f_lasti  # the last instruction that lets signals in
        catches, looks = places_of(frame.f_code)
        self.point(frame)

        def step(frame, event, arg):
            nonlocal last
            if event == "opcode":
                here = frame.f_lasti
                if catches(here) == catches(last):
                    self.point(frame)
                if here in looks:
                    last = here
            return step

        return step

    def profiled(self, frame, event, arg):
        """Of a function in C that returns."""
        if event == "c_return" and frame.f_code.co_filename != __file__:
            self.point(frame)


@cache
def places_of(code):
    """(catches, looks): where an exception at an offset is caught; offsets of the instructions that let signals in."""
    bytecode = dis.Bytecode(code)
    looks = {
        each.offset for each in bytecode if each.opname.startswith(("CALL", "RESUME")) or each.opname == "JUMP_BACKWARD"
    }
    ranges = [(each.start, each.end, each.target) for each in bytecode.exception_entries]

    @cache
    def catches(offset):
        return next((target for start, end, target in ranges if start <= offset < end), None)

    return catches, frozenset(looks)


def points_of(make, call, exhaustive, functions):
    """Which points of ``call(make())`` are to be tried: all; else one on each line of these functions of libsvmx, and
    some anywhere."""
    call(make())  # what is imported and looked up once is no part of it
    points, made = Points(), make()
    with points:
        call(made)
    every = range(1, len(points.found) + 1)
    if exhaustive:
        return every
    of_line = {}
    for at, place in zip(every, points.found, strict=True):
        if "libsvmx" in place[0] and place[1] in functions:
            of_line.setdefault(place, []).append(at)
    return sorted({at[len(at) // 2] for at in of_line.values()} | set(every[:: 1 + len(every) // SPREAD]))


def interrupted(call, at, act=fail):
    """``call`` with ``act`` at one of its points; returns whether that was raised, not dropped."""
    points = Points(at, act)
    try:
        with points:
            call()
    except (Failure, KeyboardInterrupt):
        return True
    return False


class Asked(Observer):
    """Asked(at=0, act=fail): counts what it is asked and told, and calls ``act`` at one of these."""

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
