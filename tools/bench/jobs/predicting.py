"""svmx-predict beside svm-predict on test sets: whole commands, with models that are trained once and kept."""

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import all_threads, command
from tools.bench.protocol import Found, Job, remarks
from tools.bench.report import Table
from tools.bench.turns import Run, take_turns

# test sets, with the options of the training; the sets that models are trained on, and how many rows of them
CASES = (Case("a9a.t", "a9a.t", "-c 1 -g 0.05"), Case("mnist.t", "mnist.scale.t", "-c 10 -g 0.02", parity=True))
TRAINED_ON = {"a9a.t": ("a9a", 0), "mnist.t": ("mnist.scale", 10_000)}
COMMAND = "from libsvmx.cli.predict import entry; entry()"
OURS, ORACLE = "svmx-predict", "svm-predict"
COLUMNS = ("test set", "threads", f"{ORACLE} s", f"{OURS} s", "ratio", "output files")


class Predicting(Job):
    name = "predicting"
    explained = (
        "Whole commands by the clock: start, reading, prediction, writing. svm-predict needs --svm-predict PATH."
    )

    def options(self, parser):
        parser.add_argument("--svm-predict", metavar="PATH", default=ORACLE, help="LIBSVM's command")

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        name, rows = TRAINED_ON[case.name]
        model = model_of(replace(case, name=name, data=name, rows=rows), options)
        dataset = datasets.load(datasets.prepare(case, options.data, options.cache))
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        programs = {OURS: [sys.executable, "-P", "-c", COMMAND], ORACLE: [options.svm_predict]}
        with tempfile.TemporaryDirectory() as folder:
            tests = Path(folder, "tests")
            tests.write_text("".join(datasets.lines_of(dataset)))
            for threads in sorted({1, all_threads()}):
                for who, program in programs.items():
                    arguments = [*program, tests, model, Path(folder, f"{who} {threads}")]
                    once = partial(command, arguments, threads, options.timeout)
                    found.runs.append(Run(f"{who}, {threads}", once, about={"threads": threads}))
            take_turns(found.runs, options.repeat, options.max_seconds_once)
            written = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        for ours, theirs in zip(found.runs[::2], found.runs[1::2], strict=True):
            if ours.results and theirs.results:
                same = [written[run.name.replace(",", "")] for run in (ours, theirs)]
                found.told[str(ours.about["threads"])] = "equal" if same[0] == same[1] else "DIFFER"
        return found

    def table(self, found):
        rows = [COLUMNS]
        for threads in dict.fromkeys(str(run.about["threads"]) for run in found.runs):
            theirs, ours = (found.run(f"{who}, {threads}") for who in (ORACLE, OURS))
            times = [f"{run.seconds:.3f}" if run else "-" for run in (theirs, ours)]
            ratio = f"{theirs.seconds / ours.seconds:.2f}" if ours and theirs else ""
            rows.append((found.case.name, threads, *times, ratio, found.told.get(threads, "")))
        return Table(found.title(), rows, remarks(self, found))

    def wrong(self, found):
        return [f"{threads} threads: output files DIFFER" for threads, told in found.told.items() if told != "equal"]


def model_of(case, options):
    """The model file, trained by libsvmx unless it is in the cache."""
    npz = datasets.prepare(case, options.data, options.cache)
    path = npz.with_suffix(".model")
    if not path.exists():
        dataset = datasets.load(npz)
        matrix = datasets.csr_matrix(dataset)
        given = datasets.keywords(case.options, matrix.max_index)
        libsvmx.save_model(str(path), libsvmx.train(matrix, dataset.targets, **given))
    return path


JOBS = {"predicting": Predicting()}
