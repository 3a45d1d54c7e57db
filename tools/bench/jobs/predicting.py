"""svmx-predict beside svm-predict on test sets: whole commands, with models trained once and kept."""

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import all_threads, command
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, text
from tools.bench.turns import Run, take_turns

# test sets with their training options; the sets that models are trained on, and how many rows of them
CASES = (Case("a9a.t", "a9a.t", "-c 1 -g 0.05"), Case("mnist.scale.t", "mnist.scale.t", "-c 10 -g 0.02", parity=True))
ROWS = {"a9a": 0, "mnist.scale": 10_000}
COMMAND = "from libsvmx.cli.predict import entry; entry()"
OURS, ORACLE = "svmx-predict", "svm-predict"
COLUMNS = {
    "threads": lambda found, run: str(run.about["threads"]),
    **TIMES,
    "ratio": lambda found, run: text(found.ratio(partner(run), run.name), ".2f"),
    "output files": lambda found, run: found.told.get(run.name, ""),
}


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
        name = case.data.removesuffix(".t")
        model = model_of(replace(case, name=name, data=name, rows=min(ROWS[name], case.rows or ROWS[name])), options)
        tests = datasets.plain_text(datasets.find(options.data, case.data), options.cache)
        found = Found(case)
        programs = {OURS: [sys.executable, "-c", COMMAND], ORACLE: [options.svm_predict]}
        with tempfile.TemporaryDirectory() as folder:
            for threads in sorted({1, all_threads()}):
                for who, program in programs.items():
                    run = f"{who}, {threads}"
                    once = partial(command, [*program, tests, model, Path(folder, run)], threads, options.timeout)
                    found.runs.append(Run(run, once, about={"threads": threads}))
            take_turns(found.runs, options.repeat, options.max_seconds_once)
            for run in found.runs:
                paths = [Path(folder, name) for name in (run.name, partner(run))]
                if run.name.startswith(OURS) and all(path.exists() for path in paths):
                    same = paths[0].read_bytes() == paths[1].read_bytes()
                    found.told[run.name] = "equal" if same else "DIFFER"
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def wrong(self, found):
        return [f"{name}: output files DIFFER" for name, told in found.told.items() if told != "equal"]


def partner(run):
    """The run of LIBSVM's command with the same number of threads."""
    return run.name.replace(OURS, ORACLE)


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
