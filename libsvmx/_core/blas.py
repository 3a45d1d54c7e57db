"""One thread for BLAS while sums must not depend on how many there are.

OpenBLAS with threads of its own has one number of them for the whole process, and a change while another thread is in
a product may change that product. So there is one limit here, that everybody shares: the first who enters sets it, the
last who leaves puts back what was before. With a limit for each, as threadpoolctl's, the first who leaves ends that of
the others in the middle of their work, and the last puts back the first one's limit. From 3.8 on it lets only one
thread of the process set limits, as long as that thread lives, and says nothing to the others: here they all count.

OpenBLAS on OpenMP has a number for each thread. There, everybody sets their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

# Libraries and the threads to put back.
Before = dict[str, tuple[Any, int]]


def of_each_thread(library: Any) -> bool:
    """Whether each thread has its own number of threads of a BLAS."""
    return bool(library.internal_api == "openblas" and library.threading_layer == "openmp")


def let_set(library: Any) -> None:
    """Whichever thread may set the limit of a library now, see above."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


def put_back(before: Before) -> None:
    for library, threads in before.values():
        let_set(library)
        library.set_num_threads(threads)
        let_set(library)


class OneThread:
    """How many are inside now, and what to put back when the last one leaves."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside = 0
        self.before: Before = {}  # by the file of each BLAS (NumPy and SciPy bring their own)
        self.libraries: list[Any] = []
        self.modules = 0  # that were loaded when ``libraries`` were looked for, which takes nearly a millisecond

    def enter(self) -> Before:
        """Returns what this thread has to put back itself."""
        from threadpoolctl import ThreadpoolController

        own: Before = {}
        with self.lock:
            if self.modules != len(sys.modules):
                self.modules = len(sys.modules)
                self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            for library in self.libraries:
                threads = library.get_num_threads()
                if threads != 1:
                    before = own if of_each_thread(library) else self.before
                    before.setdefault(library.filepath, (library, threads))
                    let_set(library)
                    library.set_num_threads(1)
            self.inside += 1
        return own

    def leave(self, own: Before) -> None:
        with self.lock:
            put_back(own)
            self.inside -= 1
            if self.inside == 0:
                put_back(self.before)
                self.before.clear()

    def forked(self) -> None:
        """In a child process: a thread that was inside the lock is not there to leave it."""
        self.lock = Lock()


_everybody = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_everybody.forked)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS works with one thread, in the whole process, until everybody who has entered this has left it.

    Also a decorator.
    """
    own = _everybody.enter()
    try:
        yield
    finally:
        _everybody.leave(own)
