"""Output files: written atomically, singly or several together, and locked while they are written."""

from __future__ import annotations

import errno
import os
import stat
import sys

from libsvmx._core.contexts import contextmanager, suppress
from libsvmx._typing import TYPE_CHECKING
from libsvmx.io.files import NOTE, STANDARD_OUTPUT, note_beside, parting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ATTEMPTS = 1000  # to find a name for a temporary file
HOSTS = 4_294_967_291  # a prime: names of hosts modulo it


def check_target(path: str) -> None:
    """Raise OSError if ``path`` cannot be written: better before a long training than after it."""
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
        if _is_read_only(folder):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        raise PermissionError(13, "Permission denied", folder)
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", path)  # a rename would bypass its protection


def _is_read_only(folder: str) -> bool:
    """Whether the file system is read-only."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _written_directly(path: str) -> str | int | None:
    """What to open for a device, a pipe, or the file of standard output or error; None for a file to be replaced."""
    if path == STANDARD_OUTPUT:
        if sys.stdout is None:  # closed by the caller; another file may have its descriptor
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), name_of_output(path))
        return os.dup(1)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(descriptor)):
                return os.dup(descriptor)  # shares its position with the lines that are printed
    return None if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else path


def name_of_output(path: str) -> str:
    """What messages call a file that is written."""
    return "standard output" if path == STANDARD_OUTPUT else path


@contextmanager
def atomic_write(path: str) -> Iterator[IO[bytes]]:
    """A binary file that becomes ``path`` when the block ends, and leaves no trace if it ends by an error.

    It is written beside the target, synced, then renamed over it, so a reader sees the old content
    or the new, never a part. Links are followed. Devices, pipes and standard output, ``-``, are written directly.

    Raises OSError, which names the file, also for an error that only shows on closing, such as a full disk.
    """
    with _naming(path):
        output = _Output(path)
        try:
            output.open()
            yield output.file
            output.complete()
            output.put_in_place()
            output.settle_note()
        finally:
            output.discard()


def write_files(contents: Sequence[tuple[str, bytes | Sequence[bytes | bytearray]]]) -> None:
    """Write several files, each whole or in pieces; none replaces its target before all are complete and synced.

    They are renamed in the order given, while signals that end a process are held back. If a rename fails, those before
    it are undone, if the file system has hard links. If the process is killed in between, the last files are still the
    old ones, and readers are warned (``parting``): the last one should be that from which the command can be repeated.

    Raises OSError, which names the file.
    """
    outputs: list[_Output] = []
    try:
        for path, content in contents:
            with _naming(path):
                outputs.append(_Output(path))
                outputs[-1].open()
                outputs[-1].file.writelines([content] if isinstance(content, bytes) else content)
                outputs[-1].complete()
        with _signals_held_back():
            _put_in_place(outputs)
    finally:
        for output in outputs:
            output.discard()


def _put_in_place(outputs: list[_Output]) -> None:
    """Rename all, or none if one fails."""
    replacing = [output for output in outputs if output.temporary is not None]
    try:
        for output in replacing if len(replacing) > 1 else ():
            with _naming(output.path):
                output.leave_note(replacing)
        for output in outputs[:-1]:
            output.keep_old()
        for output in outputs:
            with _naming(output.path):
                output.put_in_place()
    except (OSError, MemoryError):
        for output in outputs[:-1]:
            output.take_back()
        raise
    finally:
        for output in outputs:
            output.discard()
        all_new = len(replacing) > 1 and all(output.in_place for output in replacing)
        for output in replacing:
            output.settle_note(all_new)


def ending_signals() -> list[int]:
    """The signals that end a process."""
    if TYPE_CHECKING:
        import signal
    else:
        import _signal as signal  # signal itself makes enumerations, which take longer

    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Delay signals that end the process, or raise, until the end of the block."""
    if "_signal" not in sys.modules:  # in a program in C with its own handlers, one of which an import would replace
        yield
        return
    if TYPE_CHECKING:
        import signal
    else:
        import _signal as signal

    came: list[int] = []

    def note(signum: int, frame: object) -> None:
        came.append(signum)

    # None: a handler in C
    handlers = {signum: signal.getsignal(signum) for signum in ending_signals()}
    handlers = {signum: known for signum, known in handlers.items() if known not in (None, signal.SIG_IGN)}
    try:
        for signum in handlers:
            with suppress(ValueError):  # not in the main thread, the only one that handles signals
                signal.signal(signum, note)
        yield
    finally:
        for signum, known in handlers.items():
            with suppress(ValueError):
                signal.signal(signum, known)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let an OSError of the block name ``path``, not a descriptor or the temporary file."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).endswith((".tmp", NOTE)):
            error.filename = name_of_output(path)
        raise


class _Output:
    """_Output(path): a temporary file beside ``path`` that replaces it, or a device itself.

    ``open`` creates the file; its caller must ``discard`` it on any exception, as a signal may raise at once. A
    temporary file is locked while its process lives; an unlocked one is left over from a kill, and is removed when the
    same target is written again.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.temporary: str | None = None
        self.old: str | None = None  # a hard link to the replaced file; '' if there is none to replace
        self.in_place = False
        self.file: IO[bytes]

    def open(self) -> None:
        """Open ``file`` for writing."""
        direct = _written_directly(self.path)
        if direct is not None:
            if sys.stdout is not None:
                sys.stdout.flush()
            self.file = open(direct, "wb")  # noqa: SIM115  discard() closes it
            return
        self.target = os.path.realpath(self.path)
        folder, name = os.path.split(self.target)
        # at up to four bytes a character, a longer name could exceed the file system's limit
        prefix = f".{name[:50]}."
        _remove_abandoned(folder or ".", prefix)
        for attempt in range(ATTEMPTS):
            self.temporary = os.path.join(folder, f"{prefix}{_host()}.{os.getpid()}.{attempt}.tmp")
            try:
                if self._create():
                    return
            except FileExistsError:
                continue
            except OSError as error:
                self.temporary = None  # if it exists, it is not ours
                raise self._named(error) from None
        self.temporary = None
        raise FileExistsError(17, "too many temporary files beside it", self.path)

    def _named(self, error: OSError) -> OSError:
        """The error, with the name of the target."""
        return OSError(error.errno, error.strerror, self.path)

    def _create(self) -> bool:
        """Create and lock the temporary file; False if another process removed it as abandoned before it was locked."""
        assert self.temporary is not None
        handle = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self.file = os.fdopen(handle, "wb")
        if lock(handle) is None or _is_still(self.temporary, handle):
            return True
        self.file.close()
        return False

    def complete(self) -> None:
        """Sync the file, and give it the permissions of the file that it replaces."""
        self.file.flush()
        if self.temporary is None:
            self.file.close()
        else:
            os.fsync(self.file.fileno())
            if fcntl is None:
                self.file.close()  # Windows cannot rename an open file
            with suppress(OSError):
                os.chmod(self.temporary, os.stat(self.target).st_mode & 0o7777)

    def put_in_place(self) -> None:
        """Rename it over the target."""
        if self.temporary is None:
            return
        try:
            os.replace(self.temporary, self.target)
        except OSError as error:
            raise self._named(error) from None
        self.temporary, self.in_place = None, True

    def leave_note(self, together: list[_Output]) -> None:
        """Note beside the target that all of these are about to be renamed."""
        from libsvmx.io.interrupted_write import leave_note

        leave_note(note_beside(self.target), [(str(output.temporary), output.target) for output in together])

    def settle_note(self, all_new: bool = False) -> None:
        """Remove the note beside the target, unless only some of its outputs are new, for which it is read. Cannot
        fail: outputs that are in place must not be followed by an error."""
        with suppress(OSError, AttributeError, MemoryError):  # AttributeError: no target
            if all_new or parting(self.target) is None:
                os.unlink(note_beside(self.target))

    def keep_old(self) -> None:
        """Keep a hard link to the old file for ``take_back``."""
        if self.temporary is None:
            return
        folder, name = os.path.split(self.temporary)
        *beginning, attempt, end = name.split(".")
        self.old = os.path.join(folder, ".".join([*beginning, str(int(attempt) + ATTEMPTS), end]))
        try:
            os.link(self.target, self.old)
        except FileNotFoundError:
            self.old = ""
        except OSError:  # no hard links: the rename cannot be undone
            self.old = None

    def take_back(self) -> None:
        """Undo the rename, if possible."""
        if not self.in_place or self.old is None:
            return
        with suppress(OSError, MemoryError):
            if self.old:
                os.replace(self.old, self.target)
            else:
                os.unlink(self.target)
            self.old, self.in_place = None, False

    def discard(self) -> None:
        """Close and remove all but the renamed file. Cannot fail."""
        for name in (self.temporary, self.old):
            if name:
                with suppress(OSError, MemoryError):
                    os.unlink(name)
        self.temporary = self.old = None
        with suppress(OSError, MemoryError, AttributeError):  # no file yet
            self.file.close()


def _remove_abandoned(folder: str, prefix: str) -> None:
    """Remove temporary files of killed processes of this host."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if not name.startswith(prefix) or not _is_of_this_host(name[len(prefix) :]):
                continue
            path = os.path.join(folder, name)
            with suppress(OSError), open(path, "r+b") as file:
                # lock() may be None; and the name may now be another process's file, if the owner has just renamed its
                # own
                if lock(file.fileno(), wait=False) and _is_still(path, file.fileno()):
                    os.unlink(path)


def _is_of_this_host(ending: str) -> bool:
    """Whether the end of a temporary file's name, host.process.attempt.tmp, is of this host."""
    *numbers, last = ending.split(".")
    decimal = all(number.isascii() and number.isdecimal() for number in numbers)
    return last == "tmp" and len(numbers) == 3 and decimal and int(numbers[0]) == _host()


def _host() -> int:
    """A number for this machine: locks of other machines may be invisible here."""
    if not hasattr(os, "uname"):
        return 0
    return int.from_bytes(os.uname().nodename.encode(), "big") % HOSTS


def lock(descriptor: int, wait: bool = True) -> bool | None:
    """Lock a file that is open for writing until it is closed.

    Returns
    -------
    True; False if another process holds it and ``wait`` is False; None if the system or the file system has no locks
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL):
            raise
        return None
    return True


@contextmanager
def held(path: str, on_wait: Callable[[], object]) -> Iterator[None]:
    """Lock ``path`` while the block reads and replaces it.

    Calls ``on_wait`` once if another process holds it, and waits. A path that does not exist is not locked.
    """
    from contextlib import ExitStack  # reading and writing do without

    with ExitStack() as stack:
        waited = False
        while os.path.isfile(path):
            file = open(path, "r+b")  # noqa: SIM115  it is closed with the stack
            if lock(file.fileno(), wait=False) is False:
                if not waited:
                    on_wait()
                waited = True
                lock(file.fileno())
            # the holder may have replaced the file meanwhile: then lock the new one
            if _is_still(path, file.fileno()):
                stack.enter_context(file)
                break
            file.close()
        yield


def _is_still(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
