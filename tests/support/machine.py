"""A machine with other answers: so much memory, so many processors, and a clock that a test moves on."""

from contextlib import contextmanager

import pytest

from libsvmx._core.machine import machine
from libsvmx.exceptions import TooLittleMemory


@contextmanager
def machine_with(**answers):
    """``machine`` answers so within the block. ``answers``: of its methods by name, or functions in their places."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, answer in answers.items():
            monkeypatch.setattr(machine, name, answer if callable(answer) else lambda answer=answer: answer)
        yield


@contextmanager
def too_little_memory(n_bytes, match):
    """The block is refused, for want of memory, by a message of that pattern where only so many bytes are free."""
    with machine_with(free_bytes=n_bytes), pytest.raises(TooLittleMemory, match=match):
        yield


class Clock:
    """Clock(now=0.0, step=1.0): goes on by ``step`` seconds whenever it is looked at, and is moved on by ``now``."""

    def __init__(self, now=0.0, step=1.0):
        self.now, self.step = now, step

    def __call__(self):
        self.now += self.step
        return self.now
