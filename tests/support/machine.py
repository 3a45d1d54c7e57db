"""A machine with other answers: memory, processors, and a clock moved by a test."""

from contextlib import contextmanager

import pytest

from libsvmx._core.machine import machine
from libsvmx.exceptions import TooLittleMemory


@contextmanager
def machine_with(**answers):
    """``machine`` gives these ``answers`` within the block: values, or functions, by method."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, answer in answers.items():
            monkeypatch.setattr(machine, name, answer if callable(answer) else lambda answer=answer: answer)
        yield


@contextmanager
def too_little_memory(n_bytes, match):
    """The block is refused for want of memory, by a message of that pattern, if only ``n_bytes`` are free."""
    with machine_with(free_bytes=n_bytes), pytest.raises(TooLittleMemory, match=match):
        yield


class Clock:
    """Clock(now=0.0, step=1.0): advances by ``step`` seconds at each look; ``now`` may be set."""

    def __init__(self, now=0.0, step=1.0):
        self.now, self.step = now, step

    def __call__(self):
        self.now += self.step
        return self.now
