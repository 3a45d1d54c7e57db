"""One BLAS thread, where sums must not depend on the number of threads.

The number of OpenBLAS's own threads is global to the process, and a change during a product in another thread may
change its result. So one limit is shared: the first context entered sets it, the last one left restores the old value.
With a limit per context, as in threadpoolctl, the first to leave would end the limit of the others, and the last would
restore the first one's. From 3.8 on threadpoolctl silently ignores all but one thread of the process; here all count.

OpenBLAS on OpenMP has a number per thread; there, each thread sets its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

# Libraries and the number of threads to restore.
Before = dict[str, tuple[Any, int]]


def of_each_thread(library: Any) -> bool:
    """Whether a BLAS has a number of threads per thread."""
    return bool(library.internal_api == "openblas" and library.threading_layer == "openmp")


def let_set(library: Any) -> None:
    """Let any thread set the limit of a library, see above."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


def restore(before: Before) -> None:
    for library, threads in before.values():
        let_set(library)
        library.set_num_threads(threads)
        let_set(library)


class OneThread:
    """Number of entered contexts, and the values to restore when the last one is left."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside = 0
        self.before: Before = {}  # by file of each BLAS (NumPy and SciPy have their own)
        self.libraries: list[Any] = []
        self.modules = 0  # loaded at the last search for ``libraries``, which takes nearly 1 ms

    def enter(self) -> Before:
        """Returns what this thread has to restore itself."""
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
            restore(own)
            self.inside -= 1
            if self.inside == 0:
                restore(self.before)
                self.before.clear()

    def forked(self) -> None:
        """In a child process, where no thread can release the lock."""
        self.lock = Lock()


_everybody = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_everybody.forked)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread in the whole process while any such context is entered; also a decorator."""
    own = _everybody.enter()
    try:
        yield
    finally:
        _everybody.leave(own)
