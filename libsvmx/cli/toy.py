"""svmx-toy: rows on a page in the browser, and the model trained on them."""

from __future__ import annotations

import os

from libsvmx._core import memory
from libsvmx._core.contexts import contextmanager, suppress
from libsvmx._core.records import record
from libsvmx._typing import TYPE_CHECKING
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, count, integer, parse, real, setter
from libsvmx.cli.process import bytes_read, entry_of, phase, tell, warn, watch, write
from libsvmx.exceptions import SvmxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx.toy.server import ToyServer
    from libsvmx.toy.session import Session

USAGE = """\
usage: svmx-toy [options] [data_file]

Opens a page in the browser: a click adds a row, a click on a row removes it, and rows can be
dragged, while boundary, margins and support vectors follow. data_file is LIBSVM data (plain, .gz, .xz,
.bz2, or - for standard input); of more than two features the page has the first two principal
components. Without a file it begins with an example. Only programs of this machine that know the
address that is printed can reach the page. Ctrl-C ends it.

options:
  --port N        port of the page (any free one)
  --no-browser    only print the address
  --features I,J  indices of two features of data_file instead of principal components
  --example NAME  initial rows: moons (default), circles, xor, blobs, sine, or none
  --idle MINUTES  exit when no page has been open for that time, 0 for never (60)
  --report FILE   write a report of results and times, as JSON
  --help, --version
"""
FIRST_EXAMPLE, NO_EXAMPLE = "moons", "none"
LAST_PORT = 65535
SECONDS = 60  # in a minute
SNAPS = "/var/lib/snapd"
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}">
<title>svmx-toy</title>
<a href="{0}">svmx-toy</a>
"""


@record()
class Job:
    """The command line."""

    port: int = 0
    minutes: float = 60.0
    browser: bool = True
    features: tuple[int, int] | None = None
    example: str = ""

    def set_port(self, option: str, text: str) -> None:
        self.port = integer(option, text)
        if not 0 <= self.port <= LAST_PORT:
            raise UsageError(f"option {option} must be between 0 and {LAST_PORT}, not {text!r}")

    def set_idle(self, option: str, text: str) -> None:
        self.minutes = real(option, text)
        if self.minutes < 0:
            raise UsageError(f"option {option} must be at least 0, not {text!r}")

    def set_features(self, option: str, text: str) -> None:
        words = text.split(",")
        if len(words) != 2:
            raise UsageError(f"option {option} needs two indices, as 1,4, not {text!r}")
        self.features = count(option, words[0]), count(option, words[1])

    def without_browser(self) -> None:
        self.browser = False


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    names = {
        "--port": job.set_port,
        "--idle": job.set_idle,
        "--features": job.set_features,
        "--example": setter(vars(job), "example"),
    }
    files = parse(argv, {}, {}, names, {"--no-browser": job.without_browser}, USAGE, "svmx-toy")
    if len(files) > 1:
        raise UsageError(f"one data file is enough, but there are {len(files)}")
    if job.features and not files:
        raise UsageError("--features are those of a data file")
    if job.example and files:
        raise UsageError("the page begins with an example or with a data file, not with both")
    watch()
    memory.load_numpy()
    from libsvmx.io.files import name_of_input, read_bytes
    from libsvmx.toy.session import Session

    session = Session()
    if files:
        with phase("reading", files[0]):
            session.open_data(read_bytes(files[0], bytes_read()), name_of_input(files[0]), job.features)
    elif job.example != NO_EXAMPLE:
        session.change([{"do": "example", "name": job.example or FIRST_EXAMPLE}])
    with begun(session, job.port) as server:
        write(f"{server.url}\n")
        with connections_that_break(), opened(server) if job.browser else suppress():
            try:
                with phase("serving"):
                    server.serve(job.minutes * SECONDS)
            finally:
                tell("page", session)
    return 0


def begun(session: Session, port: int) -> ToyServer:
    """The server. Raises SvmxError if the requested port is not available."""
    from libsvmx.toy.server import ToyServer

    try:
        return ToyServer(session, port)
    except OSError as error:
        if not port:
            raise
        cause = f"port {port}: {error.strerror or error}; name another one, or leave out --port for any that is free"
        raise SvmxError(cause) from error


@contextmanager
def connections_that_break() -> Iterator[None]:
    """Ignore SIGPIPE, which would end the command when a browser closes its connection."""
    import signal

    before = None
    if hasattr(signal, "SIGPIPE"):
        with suppress(ValueError):  # not in the main thread
            before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGPIPE, before)


@contextmanager
def opened(server: ToyServer) -> Iterator[None]:
    """Open the page in the browser, by a file that redirects to it and that only its owner can read.

    All users of the machine see the arguments of a browser, so the address, with its token, must not be one.
    """
    import shutil
    import webbrowser
    from pathlib import Path
    from tempfile import mkdtemp
    from threading import Thread

    folder = ""
    with tidy_end():
        try:
            try:
                folder = mkdtemp(prefix="svmx-toy-", dir=seen_by_browsers())  # of mode 0700
                page = Path(folder, "open.html")
                page.touch(mode=0o600)
                page.write_text(REDIRECT.format(server.url), encoding="ascii")
            except OSError as error:
                warn(f"the browser is not started ({error.strerror}): open the address")
            else:
                server.when_asked = lambda: shutil.rmtree(folder, ignore_errors=True)
                # a browser in the terminal returns only when it is closed, and needs answers before
                Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def seen_by_browsers() -> str | None:
    """The folder for that file; None for the temporary folder, which a browser in a snap cannot see."""
    home = os.path.expanduser("~")
    return home if os.path.isdir(SNAPS) and os.access(home, os.W_OK) else None


entry = entry_of("svmx-toy", main, USAGE)
