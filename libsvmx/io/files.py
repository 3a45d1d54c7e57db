"""Files in, files out: whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from libsvmx.exceptions import FormatError

STANDARD_INPUT = "-"
MAGIC_BYTES = 10  # as many as tell a compressed file
BZIP2_BLOCK_OR_END = (b"1AY&SY", b"\x17rE8P\x90")  # digits of pi and of its root, behind "BZh" and the level


def read_bytes(path: str) -> bytes:
    """Content of a file, decompressed if it is gzip, xz or bzip2 by its first bytes; ``-`` is standard input.

    The file is read once, so pipes will do.

    Raises
    ------
    OSError          it cannot be read (directories included)
    FormatError      its compression is damaged
    """
    content: bytes
    if path == STANDARD_INPUT:
        content = _standard_input().read()
    else:
        with open(path, "rb") as file:
            content = file.read()
    opener = _opener(content[:MAGIC_BYTES])
    if opener is None:
        return content
    with _damage(path), opener(io.BytesIO(content)) as plain:
        content = plain.read()
        return content


def read_blocks(path: str, size: int) -> Iterator[bytes]:
    """The same content in blocks of about ``size`` bytes, in bounded memory.

    Raises
    ------
    OSError, FormatError      as ``read_bytes``, but only when the block in question is asked for
    """
    if path == STANDARD_INPUT:
        yield from _blocks(_standard_input(), path, size)
    else:
        with open(path, "rb") as file:
            yield from _blocks(file, path, size)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:  # closed by the caller
        raise OSError(9, "Bad file descriptor", "standard input")
    return sys.stdin.buffer


class _Rejoined(io.RawIOBase):
    """What has been read from a file, then the rest of it."""

    def __init__(self, head: bytes, file: IO[bytes]) -> None:
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        content = self._head or self._file.read(len(target))
        self._head = content[len(target) :]
        target[: len(content)] = content[: len(target)]
        return min(len(content), len(target))


def _blocks(file: IO[bytes], path: str, size: int) -> Iterator[bytes]:
    head = file.read(MAGIC_BYTES)
    opener = _opener(head)
    if opener is None:
        block = head + file.read(size)
        while block:
            yield block
            block = file.read(size)
        return
    with _damage(path), opener(io.BufferedReader(_Rejoined(head, file))) as plain:
        while block := plain.read(size):
            yield block


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Errors of decompression as FormatError."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # each module has its own family of errors
        raise FormatError(path, 0, 0, f"damaged compressed file: {error}") from error


def _opener(head: bytes) -> Callable[..., Any] | None:
    """What opens a compressed file that starts so; None for a plain one."""
    # imported where needed: plain files should not pay for it at start-up
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.open
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.open
    if head.startswith(b"BZh") and head[4:10] in BZIP2_BLOCK_OR_END:
        import bz2

        return bz2.open
    return None


def check_target(path: str) -> None:
    """Raise OSError now if ``path`` could not be written later: better before a long training than after it."""
    direct = _written_directly(path)
    if direct is not None:
        if isinstance(direct, int):
            os.close(direct)
        return
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(21, "Is a directory", path)
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(2, "No such file or directory", folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", folder)
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", path)  # renaming would get round its protection


def _written_directly(path: str) -> str | int | None:
    """What to open for a device, a pipe, or the file that standard output or error is; None if it can be replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(descriptor)):
                return os.dup(descriptor)  # shares its position with the lines that are printed
    return None if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else path


def same_file(a: str, b: str) -> bool:
    """Whether two names lead to one regular file. A name that does not exist leads nowhere."""
    try:
        return os.path.samefile(a, b) and os.path.isfile(a)
    except OSError:
        return False


@contextmanager
def atomic_write(path: str) -> Iterator[IO[bytes]]:
    """A binary file that becomes ``path`` when the block ends, and leaves no trace if it ends by an error.

    It is written beside the target, synced, then renamed over it, so a reader sees the old content
    or the new, never a part. Links are followed. Devices and pipes are written directly.

    Raises
    ------
    OSError          also for an error that only shows on closing, such as a full disk; names the file
    """
    try:
        direct = _written_directly(path)
        if direct is not None:
            sys.stdout.flush()
            with open(direct, "wb") as file:
                yield file
        else:
            with _replacing(os.path.realpath(path)) as file:
                yield file
    except OSError as error:
        if error.filename is None:  # writing knows only a descriptor
            error.filename = path
        raise


@contextmanager
def _replacing(target: str) -> Iterator[IO[bytes]]:
    file, temporary = _open_beside(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # keep the rights of a file that is replaced
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _open_beside(target: str) -> tuple[IO[bytes], str]:
    folder, name = os.path.split(target)
    for attempt in range(1000):
        # the name is cut so that a long one, at up to four bytes a character, stays within the file system's limit
        temporary = os.path.join(folder, f".{name[:50]}.{os.getpid()}.{attempt}.tmp")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        return os.fdopen(handle, "wb"), temporary
    raise FileExistsError(17, "too many temporary files beside it", target)
