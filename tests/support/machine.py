"""A machine that gives other answers: memory, processors, and a clock moved by a test."""

from contextlib import contextmanager

import pytest

from libsvmx._core.machine import machine
from libsvmx.exceptions import TooLittleMemory


@contextmanager
def machine_with(**answers):
    """``machine`` gives these ``answers`` within the block: values, or functions, by method name."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, answer in answers.items():
            monkeypatch.setattr(machine, name, answer if callable(answer) else lambda answer=answer: answer)
        yield


@contextmanager
def too_little_memory(n_bytes, match):
    """Only ``n_bytes`` are free within the block, which must be refused for lack of memory, as ``match`` says."""
    with machine_with(free_bytes=n_bytes), pytest.raises(TooLittleMemory, match=match):
        yield


class Clock:
    """Clock(now=0.0, step=1.0): advances by ``step`` seconds at each reading; ``now`` may be set."""

    def __init__(self, now=0.0, step=1.0):
        self.now, self.step = now, step

    def __call__(self):
        self.now += self.step
        return self.now
