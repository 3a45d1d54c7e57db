"""Input files, whole or in blocks, compressed or not; and checks of file names."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys

from libsvmx._core.contexts import suppress
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, TextIO

COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh")  # first bytes of gzip, xz and bzip2
MAGIC_BYTES = 10  # enough to recognise a compressed file
PIECE = 1 << 23  # bytes read at a time, some milliseconds
NOTE = ".together"  # end of the name of a note, see interrupted_write.py
STANDARD_INPUT = STANDARD_OUTPUT = "-"


def name_of_input(path: str) -> str:
    """What messages call a file that is read."""
    return "standard input" if path == STANDARD_INPUT else path


def read_bytes(path: str, told: Callable[[int, int], object] | None = None) -> bytes:
    """Content of a file, decompressed if it is gzip, xz or bzip2 by its first bytes; ``-`` is standard input.

    The file is read once, so pipes can be read. ``told`` is called with 0 of 0 after each piece.

    Raises OSError, and FormatError for damaged compression.
    """
    content: bytes
    if path == STANDARD_INPUT:
        content = _standard_input().read()
    else:
        with open(path, "rb") as file:
            content = _whole(file, told)
    if not content.startswith(COMPRESSED):
        return content
    from libsvmx.io.compressed import damage, opener

    decompressed = opener(content[:MAGIC_BYTES])
    if decompressed is None:
        return content
    with damage(path), decompressed(io.BytesIO(content)) as plain:
        content = plain.read() if told is None else b"".join(_pieces(plain, told))
        return content


def _pieces(file: IO[bytes], told: Callable[[int, int], object]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        told(0, 0)
        yield piece


def _whole(file: IO[bytes], told: Callable[[int, int], object] | None = None) -> bytes:
    """All bytes of a file; a large one in pieces, so that signals are handled in between, without a copy."""
    status = os.fstat(file.fileno())
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    if size <= PIECE:
        return file.read()
    from libsvmx._core.arrays import unwritten_bytes

    content, target = unwritten_bytes(size)
    with target:
        at = 0
        while n := file.readinto(target[at : at + PIECE]):  # type: ignore[attr-defined]
            at += n
            if told is not None:
                told(0, 0)
    return content[:at] + file.read()  # the file has changed since; else this is no copy


def read_blocks(path: str, size: int) -> Iterator[bytes]:
    """``read_bytes`` in blocks of about ``size`` bytes, in bounded memory.

    Raises as ``read_bytes``, when the block is asked for.
    """
    if path == STANDARD_INPUT:
        yield from _blocks(_standard_input(), path, size)
    else:
        with open(path, "rb") as file:
            yield from _blocks(file, path, size)


def size_of(path: str) -> int:
    """Size of a file; 0 for a pipe and a compressed file, where it is not the size of the text."""
    if not os.path.isfile(path):
        return 0
    with open(path, "rb") as file:
        return 0 if file.read(MAGIC_BYTES).startswith(COMPRESSED) else os.fstat(file.fileno()).st_size


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:  # closed by the caller
        raise OSError(9, "Bad file descriptor", "standard input")
    return sys.stdin.buffer


def _blocks(file: IO[bytes], path: str, size: int) -> Iterator[bytes]:
    head = file.read(MAGIC_BYTES)
    decompressed = None
    if head.startswith(COMPRESSED):
        from libsvmx.io.compressed import damage, opener, rejoined

        decompressed = opener(head)
    if decompressed is None:
        block = head + file.read(size)
        while block:
            yield block
            block = file.read(size)
        return
    with damage(path), decompressed(rejoined(head, file)) as plain:
        while block := plain.read(size):
            yield block


def same_file(a: str, b: str) -> bool:
    """Whether two names are the same regular file; False for a name that does not exist."""
    if STANDARD_INPUT in (a, b):
        return False
    try:
        return os.path.samefile(a, b) and os.path.isfile(a)
    except OSError:
        return False


def is_one_file(a: str, b: str) -> bool:
    """Whether two names are the same output file, existing or not; devices are no files."""
    if STANDARD_OUTPUT in (a, b):
        return a == b
    return os.path.realpath(a) == os.path.realpath(b) and (os.path.isfile(b) or not os.path.exists(b))


def note_beside(target: str) -> str:
    """Name of the note on files written together, see interrupted_write.py."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:50]}{NOTE}")


def parting(path: str) -> str | None:
    """Warning for readers of a file of which only some of the files written with it are new; None for other files,
    which costs a look for the note.
    """
    note = note_beside(os.path.realpath(path))
    if not os.path.exists(note):
        return None
    from libsvmx.io.interrupted_write import remark_of

    return remark_of(note)


def print_names_as_typed(*streams: TextIO | None) -> None:
    """Print file names in the bytes in which they were given, whatever the locale."""
    codecs.register_error(AS_TYPED, _as_typed)
    for stream in streams:
        with suppress(AttributeError):  # closed by the caller
            stream.reconfigure(errors=AS_TYPED)  # type: ignore[union-attr]


AS_TYPED = "libsvmx.as_typed"


def _as_typed(error: UnicodeError) -> tuple[bytes, int]:
    """Undecodable bytes as they were; characters that the locale lacks as escapes."""
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    parts = (
        bytes([ord(c) - 0xDC00]) if "\udc80" <= c <= "\udcff" else c.encode("ascii", "backslashreplace")
        for c in characters
    )
    return b"".join(parts), error.end
