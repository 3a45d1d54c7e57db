"""Seconds from a signal, or a time limit, to the end of a command."""

import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tools.bench import datasets
from tools.bench.measure import Unavailable
from tools.bench.protocol import Found, Job
from tools.bench.report import Table, milliseconds
from tools.bench.turns import Run

DATA, HARD = "a9a", "-c 100 -g 0.5"
# scikit-learn's names, with parameters that make them train for long
ESTIMATORS = {
    "SVC": "C=100, gamma=0.5",
    "NuSVC": "nu=0.2, gamma=0.5",
    "SVR": "C=100, gamma=0.5",
    "NuSVR": "C=100, gamma=0.5",
    "OneClassSVM": "gamma=0.5",
    "SVCCV": "Cs=[32.0, 128.0], gammas=[0.5, 0.125], cv=5",
    "SVRCV": "Cs=[32.0, 128.0], gammas=[0.5, 0.125], cv=5",
}
# Copies of the data in the file to predict.
TIMES = 20
# Seconds: no signal is sent earlier than the first, nor later than the limit below.
SOONEST = 0.4
WAYS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "Ctrl-C, saved": signal.SIGINT, "time limit": None}
PYTHON = "Ctrl-C in Python"
CHILD = """\
import sys, time, libsvmx
X, y = libsvmx.read_problem(sys.argv[1])
model = libsvmx.train(X[:2000], y[:2000]) if "model" in sys.argv[2] else None
if "fit" in sys.argv[2]:
    import libsvmx.sklearn
print("ready", flush=True)
try:
    eval(sys.argv[2])
except KeyboardInterrupt:
    end = time.monotonic()
    if "estimator" in globals():
        from sklearn.utils.validation import check_is_fitted
        try:
            check_is_fitted(estimator)
        except ValueError:
            pass
        else:
            sys.exit("it says that it is fitted")
    print(end)
"""


@dataclass(frozen=True)
class Case:
    """A command line, with DATA, BIG, MODEL and RANGES for files; and the same call in Python, '' for none."""

    name: str
    command: str
    arguments: str
    ways: tuple
    python: str = ""
    part: str = ""

    def title(self):
        return f"{self.name}: {self.command} {self.arguments}"

    def quick(self):
        return replace(self, arguments=self.arguments.replace("DATA", "SMALL").replace("BIG", "SMALL"))


def training(name, options, python="", validates=False):
    """svmx-train; only a run that makes a model can save it."""
    ways = tuple(way for way in WAYS if not (validates and way == "Ctrl-C, saved"))
    end = "" if validates else " out"
    return Case(name, "svmx-train", f"-q {HARD} {options} DATA{end}", ways, python)


def trained(options):
    return f"libsvmx.train(X, y, C=100, gamma=0.5, {options})"


def folds(options):
    return f"libsvmx.cross_validate(X, y, 5, C=100, gamma=0.5, {options})"


def cases():
    solvers = {
        "smo": "",
        "chunked": "--solver chunked",
        "irwls": "--solver irwls",
        "crsvm": "--solver crsvm --rank 1500",
    }
    for name, options in solvers.items():
        call = "solver='crsvm', low_rank='cholesky', rank=1500" if name == "crsvm" else f"solver={name!r}"
        yield training(name, options, trained(call))
    yield training("-b 1", "-b 1", trained("probability=True"))
    for seeder in ("none", "sir", "mir", "ato", "avg", "top", "near", "path"):
        yield training(f"-v 5 {seeder}", f"-v 5 --seeder {seeder}", folds(f"seeder={seeder!r}"), True)
    yield training("--loo", "--loo", "libsvmx.leave_one_out(X, y, C=100, gamma=0.5)", True)
    yield Case("state", "svmx-train", f"-q {HARD} DATA out", (), trained("keep_state=True"))
    for name, options in ESTIMATORS.items():
        yield Case(
            name, "svmx-train", f"-q {HARD} DATA out", (), f"(estimator := libsvmx.{name}({options})).fit(X.tocsr(), y)"
        )
    ends = ("Ctrl-C", "SIGTERM")
    limited = (*ends, "time limit")
    yield Case("predict", "svmx-predict", "BIG MODEL out", ends, "libsvmx.predict(model, X)")
    yield Case("scale", "svmx-scale", "DATA", ends)
    yield Case("subset", "svmx-subset", "DATA 30000 out", ends)
    grid = "-log2c 5,7,2 -log2g -1,-3,-2 -v 2 -out null -png null"
    call = "libsvmx.grid_search(X, y, (5, 7, 2), (-1, -3, -2), 2"
    yield Case("grid", "svmx-grid", f"{grid} DATA", limited, f"{call})")
    yield Case("grid, 2 workers", "svmx-grid", f"{grid} --workers 2 DATA", limited, f"{call}, workers=2)")
    yield Case("easy", "svmx-easy", "DATA", ends)
    yield Case("update", "svmx-update", f"-q {HARD} --window 3000 --step 10 DATA out", limited)


class Latencies(Job):
    name = "latencies"
    explained = f"""\
Milliseconds from a signal, or from the end of --time-limit, to the end of the process: median and worst. In Python to
where KeyboardInterrupt is caught. Signals come at random moments from {SOONEST:g} s on. The time limit counts from the
start of the process, so the start of Python is in it. 'Ctrl-C, saved' is --on-interrupt save: the model is written."""
    repeat = 20
    seconds = 4.0

    def every_case(self, options):
        return list(cases())

    def run(self, case, options):
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started with &; the commands would inherit it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        found = Found(case)
        path = datasets.plain_text(datasets.find(options.data, DATA), options.cache)
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(case, path, Path(folder), options)
            for way in case.ways:
                found.runs.append(runner.run(way, runner.of_command))
            if case.python:
                found.runs.append(runner.run(PYTHON, runner.of_python))
        return found

    def table(self, found):
        rows = [("", "median ms", "worst ms", "n")]
        rows += [(run.name, milliseconds(run.seconds), milliseconds(max(run.times)), str(len(run.times)))
                 for run in found.runs if run.results]  # fmt: skip
        return Table(found.title(), rows, [f"{run.name}: {run.cannot}" for run in found.runs if run.cannot])

    def tables(self, results):
        """All cases in one table: median and worst."""
        ways = (*WAYS, PYTHON)
        rows = [("median / worst ms", *ways)]
        for found in results:
            runs = [found.run(way) for way in ways]
            cells = (f"{milliseconds(r.seconds)} / {milliseconds(max(r.times))}" if r else "-" for r in runs)
            rows.append((found.case.name, *cells))
        return [Table(f"{DATA}, {HARD}", rows)]


class Runner:
    """Runner(case, path, folder, options): one case, repeated."""

    def __init__(self, case, path, folder, options):
        self.case, self.folder, self.options = case, folder, options
        self.random = random.Random(1)
        small = folder / "small"
        small.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:300]))
        self.data = small if "SMALL" in case.arguments else path
        files = {
            "DATA": path,
            "SMALL": small,
            "BIG": folder / "big",
            "MODEL": folder / "model",
            "RANGES": folder / "ranges",
        }
        if "BIG" in case.arguments:
            files["BIG"].write_bytes(path.read_bytes() * TIMES)
        if "MODEL" in case.arguments:
            self.call("svmx-train", "-q", "-c", "1", "-g", "0.05", str(self.data), str(files["MODEL"]))
        self.arguments = [str(files.get(word, word)) for word in case.arguments.split()]

    def command(self, name, *arguments):
        module = name.removeprefix("svmx-")
        return [sys.executable, "-c", f"from libsvmx.cli.{module} import entry; entry()", *arguments]

    def call(self, name, *arguments):
        done = subprocess.run(self.command(name, *arguments), cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"{name}: {done.stderr.strip()}")

    def run(self, way, once):
        """``repeat`` tries at random moments. One that finished first does not count, and the next is earlier."""
        run, latest = Run(way, None), self.options.seconds
        for _ in range(2 * self.options.repeat):
            if len(run.results) == self.options.repeat:
                break
            moment = self.random.uniform(min(SOONEST, latest), latest)
            seconds = once(way, moment)
            if seconds is None:
                latest = max(0.7 * latest, 0.05)
            else:
                run.results.append({"seconds": seconds, "moment": moment})
        if not run.results:
            run.cannot = "it is over too soon"
        return run

    def of_command(self, way, moment):
        """Seconds that a command runs on after its moment; None if it had finished before."""
        more = ["--on-interrupt", "save"] if way == "Ctrl-C, saved" else []
        more += ["--time-limit", f"{moment:.3f}"] if way == "time limit" else []
        arguments = self.command(self.case.command, *more, *self.arguments)
        begun = time.monotonic()
        child = subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(moment)
            return None
        except subprocess.TimeoutExpired:
            pass
        signum, asked = WAYS[way], begun + moment
        if signum is not None:
            asked = time.monotonic()
            child.send_signal(signum)
        return self.waited(child, asked)

    def of_python(self, way, moment):
        """Seconds until a call in Python raises KeyboardInterrupt; None if it had finished before."""
        arguments = [sys.executable, "-c", CHILD, str(self.data), self.case.python]
        child = subprocess.Popen(
            arguments, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        child.stdout.readline()
        try:
            child.wait(moment - min(SOONEST, moment) / 2)
            return None
        except subprocess.TimeoutExpired:
            pass
        asked = time.monotonic()
        child.send_signal(signal.SIGINT)
        ended = self.waited(child, asked)
        told = child.stdout.read().split()
        if child.returncode > 0:
            raise Unavailable(f"exit code {child.returncode} after Ctrl-C")
        return float(told[-1]) - asked if told else ended

    def waited(self, child, since):
        try:
            child.wait(self.options.timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return time.monotonic() - since


JOBS = {"latencies": Latencies()}
