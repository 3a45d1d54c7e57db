"""Reading of data files, in megabytes of text a second."""

import time
from functools import partial
from pathlib import Path

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, command, measure, timed
from tools.bench.protocol import Found, Job, remarks
from tools.bench.report import Table
from tools.bench.turns import Run, take_turns

FILES = ("a9a", "letter.scale", "madelon", "reuters-money-fx", "mnist.scale")
READERS = ("libsvmx", "scikit-learn", "LIBSVM")
COLUMNS = ("MB/s, median", "MB", *READERS)


class Reading(Job):
    name = "reading"
    explained = """\
libsvmx: libsvmx.read_problem; scikit-learn: load_svmlight_file; each in a process of its own, the call alone.
LIBSVM's reader in C cannot be called from outside. `svm-train -c 0 FILE` reads FILE, then refuses C = 0 before it
trains: the time of that whole command is the time of reading, with about a millisecond to start a process in C."""

    def options(self, parser):
        parser.add_argument("--svm-train", type=Path, metavar="PATH", help="LIBSVM's command, to time its C reader")

    def every_case(self, options):
        return [Case(name, name) for name in FILES]

    def run(self, case, options):
        path = datasets.plain_text(datasets.find(options.data, case.data), options.cache)
        found = Found(case, told={"bytes": path.stat().st_size})
        path.read_bytes()  # so that every reader finds it in the page cache
        jobs = [{"call": "jobs.reading:read", "reader": reader, "path": str(path)} for reader in READERS[:2]]
        found.runs = [Run(job["reader"], partial(measure, job, 1, options.timeout)) for job in jobs]
        found.runs.append(Run(READERS[2], partial(c_reader, options.svm_train, path, options.timeout)))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        size = found.told["bytes"] / 1e6
        rates = (f"{size / run.seconds:.0f}" if run.results else "-" for run in found.runs)
        return Table(found.title(), [COLUMNS, (found.case.name, f"{size:.1f}", *rates)], remarks(self, found))


def c_reader(svm_train, path, timeout):
    if svm_train is None:
        return {"cannot": "it needs --svm-train PATH"}
    told = command([svm_train, "-c", "0", path], 1, timeout, fails=True)
    if "cannot" in told or "C <= 0" in told["errors"]:
        return told
    return {"cannot": f"svm-train said {told['errors'].strip()[:80]!r}, not that C <= 0"}


def read(job):
    """In a child: {reader, path}"""
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        load_svmlight_file = None
    call = libsvmx.read_problem if job["reader"] == "libsvmx" else load_svmlight_file
    if call is None:
        raise Unavailable("scikit-learn is not installed")
    return {"seconds": timed(lambda: call(job["path"]), time.perf_counter)}


JOBS = {"reading": Reading()}
