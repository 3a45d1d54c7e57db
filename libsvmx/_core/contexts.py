"""``contextmanager`` and ``suppress`` of ``contextlib`` without its import of ``functools``, 1/20 of a start.

Type checkers see the originals.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

__all__ = ["contextmanager", "suppress"]

if TYPE_CHECKING:
    from contextlib import contextmanager, suppress
else:

    class Block:
        """The context of a generator that yields once."""

        __slots__ = ("generator",)

        def __init__(self, generator):
            self.generator = generator

        def __enter__(self):
            try:
                return next(self.generator)
            except StopIteration:
                raise RuntimeError("generator didn't yield") from None

        def __exit__(self, kind, error, trace):
            if kind is None:
                try:
                    next(self.generator)
                except StopIteration:
                    return False
                raise RuntimeError("generator didn't stop")
            if error is None:
                error = kind()
            try:
                self.generator.throw(error)
            except StopIteration as end:
                return end is not error
            except BaseException as raised:
                # Python makes a RuntimeError of a StopIteration that leaves a generator
                converted = isinstance(raised, RuntimeError) and isinstance(error, StopIteration)
                if raised is error or (converted and raised.__cause__ is error):
                    error.__traceback__ = trace
                    return False
                raise
            raise RuntimeError("generator didn't stop after throw()")

    def contextmanager(function):
        """Make a context manager of a generator function that yields once."""

        def block(*args, **kwargs):
            return Block(function(*args, **kwargs))

        block.__name__, block.__qualname__, block.__doc__ = function.__name__, function.__qualname__, function.__doc__
        block.__module__, block.__wrapped__ = function.__module__, function
        return block

    class suppress:
        """A context that suppresses exceptions of these kinds."""

        __slots__ = ("kinds",)

        def __init__(self, *kinds):
            self.kinds = kinds

        def __enter__(self):
            return None

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self.kinds)
