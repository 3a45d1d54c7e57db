"""svmx-toy: rows on a page in the browser, and the model that follows them."""

from __future__ import annotations

from libsvmx._core import memory
from libsvmx._core.records import record
from libsvmx.cli.options import UsageError, integer, parse, real
from libsvmx.cli.process import bytes_read, phase, run, tell, watch, write

USAGE = """\
usage: svmx-toy [options] [data_file]

Opens a page in the browser: a click adds a row, a click on a row removes it, and rows can be
dragged, while boundary, margins and support vectors follow. data_file is LIBSVM data of one or two
features (plain, .gz, .xz, .bz2, or - for standard input). Only programs of this machine that know
the address that is printed can reach the page. Ctrl-C ends it.

options:
  --port N        of the page (any that is free)
  --no-browser    only print the address
  --idle MINUTES  end when no page has been open for so long, 0 for never (60)
  --report FILE   write what was done and what it took, as JSON
  --help, --version
"""
LAST_PORT = 65535
SECONDS = 60  # of a minute


@record()
class Job:
    """What the command line asks for."""

    port: int = 0
    minutes: float = 60.0
    browser: bool = True

    def set_port(self, option: str, text: str) -> None:
        self.port = integer(option, text)
        if not 0 <= self.port <= LAST_PORT:
            raise UsageError(f"option {option} must be between 0 and {LAST_PORT}, not {text!r}")

    def set_idle(self, option: str, text: str) -> None:
        self.minutes = real(option, text)
        if self.minutes < 0:
            raise UsageError(f"option {option} must be at least 0, not {text!r}")

    def without_browser(self) -> None:
        self.browser = False


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    names = {"--port": job.set_port, "--idle": job.set_idle}
    files = parse(argv, {}, {}, names, {"--no-browser": job.without_browser}, USAGE, "svmx-toy")
    if len(files) > 1:
        raise UsageError(f"one data file is enough, but there are {len(files)}")
    watch()
    memory.load_numpy()
    from libsvmx.io.files import read_bytes
    from libsvmx.toy.server import ToyServer
    from libsvmx.toy.session import Session

    session = Session()
    if files:
        name = "standard input" if files[0] == "-" else files[0]
        with phase("reading", files[0]):
            session.open_data(read_bytes(files[0], bytes_read()), name)
    with ToyServer(session, job.port) as server:
        write(f"{server.url}\n")
        if job.browser:
            open_browser(server.url)
        try:
            with phase("serving"):
                server.serve(job.minutes * SECONDS)
        finally:
            tell("page", session)
    return 0


def open_browser(address: str) -> None:
    """In a thread of its own: a browser in the terminal returns only when it is left, and needs answers before."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def entry() -> None:
    """Run the command and leave with its exit code."""
    run("svmx-toy", main, USAGE)
