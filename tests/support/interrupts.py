"""Ctrl-C, pressed by another thread."""

import signal
import threading
from contextlib import contextmanager

import pytest

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
