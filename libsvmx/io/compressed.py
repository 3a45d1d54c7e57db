"""Compressed files, with all their streams, and an error for anything after them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import FormatError

if TYPE_CHECKING:
    from typing import IO, Any

BZIP2_BLOCK_OR_END = (b"1AY&SY", b"\x17rE8P\x90")  # digits of pi and of its root, after "BZh" and the level
INPUT_BYTES = 1 << 16
XZ_PADDING = 4  # zeros after a stream come in multiples of it


@contextmanager
def damage(path: str) -> Iterator[None]:
    """Errors of decompression as FormatError."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # each module raises errors of its own
        raise FormatError(path, 0, 0, f"damaged compressed file: {error}") from error


def opener(head: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """The opener for a compressed file with these first bytes; None for a plain file."""
    # imported on use, which saves time at the start
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return lambda file: gzip.GzipFile(fileobj=file)  # type: ignore[return-value]  # refuses what follows by itself
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lambda file: io.BufferedReader(_Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), XZ_PADDING))
    if head.startswith(b"BZh") and head[4:10] in BZIP2_BLOCK_OR_END:
        import bz2

        return lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor, 0))
    return None


def rejoined(head: bytes, file: IO[bytes]) -> IO[bytes]:
    """The bytes already read from a file, then the rest of it."""
    return io.BufferedReader(_Rejoined(head, file))


class _Rejoined(io.RawIOBase):
    def __init__(self, head: bytes, file: IO[bytes]) -> None:
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        content = self._head or self._file.read(len(target))
        self._head = content[len(target) :]
        target[: len(content)] = content[: len(target)]
        return min(len(content), len(target))


class _Streams(io.RawIOBase):
    """_Streams(file, decompressor, padding): the streams of a .bz2 or .xz file, one after the other.

    Python's own readers end at the first bytes that are no stream, and so drop the rows after a damaged header; here
    they are an error. ``padding``: zeros may follow a stream in multiples of it, if it is not 0.
    """

    def __init__(self, file: IO[bytes], decompressor: Callable[[], Any], padding: int) -> None:
        self._file, self._new, self._padding = file, decompressor, padding
        self._stream = decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        content = b""
        while not content:
            given = b""
            if self._stream.eof:
                given = self._next_stream(self._stream.unused_data)
                if not given:
                    return 0
                self._stream = self._new()
            elif self._stream.needs_input:
                given = self._file.read(INPUT_BYTES)
                if not given:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            content = self._stream.decompress(given, len(target))
        target[: len(content)] = content
        return len(content)

    def _next_stream(self, rest: bytes) -> bytes:
        """The bytes after a stream, without padding; empty at the end of the file."""
        zeros = 0
        while True:
            rest = rest or self._file.read(INPUT_BYTES)
            kept = rest.lstrip(b"\0") if self._padding else rest
            zeros += len(rest) - len(kept)
            if kept or not rest:
                if self._padding and zeros % self._padding:
                    raise ValueError(f"{zeros} zero bytes behind a stream are no multiple of {self._padding}")
                return kept
            rest = b""
