"""The predict job: libsvmx beside LIBSVM on test sets, with models that are trained once and kept."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench import datasets
from tools.bench.cases import Case, named
from tools.bench.measure import all_threads, environment, measure
from tools.bench.report import aligned

# training case and test set
TESTS = (
    (named()["a9a-c1"], Case("a9a.t", "a9a.t")),
    (named()["mnist-parity"], Case("mnist-parity.t", "mnist.scale.t", parity=True)),
)
COMMAND = "from libsvmx.cli.predict import entry; entry()"
TIMEOUT_SECONDS = 3600


def run(options) -> list[dict[str, Any]]:
    print("calls: rows and model are in memory before; commands: whole processes, reading and writing text.")
    if options.svm_predict is None:
        print(
            "svm-predict command: NOT RUN: it needs --svm-predict PATH; LIBSVM is timed through libsvm-official's calls"
        )
    rows, records = [("test set", "how", "threads", "libsvmx s", "LIBSVM s", "ratio", "labels")], []
    for trained, test in TESTS:
        training, source = (datasets.find(options.data, case.data) for case in (trained, test))
        if training is None or source is None:
            print(f"{test.name}: NOT RUN: {trained.data} or {test.data} is not in {options.data}")
            continue
        model = trained_model(trained, training, options.cache)
        npz = datasets.prepare(test, source, options.cache)
        for how in ("call", *(["command"] if options.svm_predict else [])):
            for threads in sorted({1, all_threads()}):
                record = compare(options, how, threads, npz, model)
                records.append({"test": test.name, "how": how, "threads": threads, **record})
                if record["cannot"]:
                    print(f"{test.name}, {how}, {threads} threads: NOT RUN: {record['cannot']}")
                else:
                    rows.append((test.name, how, str(threads), *cells(record)))
    print("\n".join(aligned(rows)))
    return records


def trained_model(case, source, cache):
    """The model file, trained by libsvmx unless it is in the cache."""
    from libsvmx._core.rand import Rand
    from libsvmx._train.observer import Observer
    from libsvmx._train.problem import Problem
    from libsvmx._train.training import train_problem
    from libsvmx.io.modelfile import save_model

    npz = datasets.prepare(case, source, cache)
    path = npz.with_name(f"{npz.stem}-{case.name}.model")
    if not path.exists():
        dataset = datasets.load(npz)
        matrix = datasets.csr_matrix(dataset)
        problem = Problem(matrix, dataset.targets)
        save_model(
            str(path), train_problem(problem, datasets.parameter(case.options, matrix.max_index), Rand(1), Observer())
        )
    return path


def compare(options, how, threads, npz, model):
    """Times of both, in turn, and whether they predicted the same."""
    found = {"libsvmx": [], "LIBSVM": [], "equal": None, "cannot": ""}
    with tempfile.TemporaryDirectory() as folder:
        outputs = {who: Path(folder) / f"{who}.npy" for who in ("libsvmx", "LIBSVM")}
        text = Path(folder) / "tests"
        if how == "command":
            from libsvmx.io.svmlight import write_data

            dataset = datasets.load(npz)
            write_data(str(text), datasets.csr_matrix(dataset), dataset.targets)
        for _ in range(options.repeat):
            for who, output in outputs.items():
                if how == "call":
                    job = {
                        "task": "predict",
                        "predictor": who,
                        "npz": str(npz),
                        "model": str(model),
                        "labels": str(output),
                    }
                    result = measure(job, threads, TIMEOUT_SECONDS)
                else:
                    result = command(who, options.svm_predict, [text, model, output], threads)
                if "cannot" in result:
                    return {**found, "cannot": f"{who}: {result['cannot']}"}
                found[who].append(result["seconds"])
        load = np.load if how == "call" else np.loadtxt
        found["equal"] = bool(np.array_equal(*map(load, outputs.values())))
    return found


def command(who, svm_predict, files, threads):
    """A whole command; libsvmx's is the installed package, never the source folder."""
    start_with = [sys.executable, "-P", "-c", COMMAND] if who == "libsvmx" else [os.fspath(svm_predict)]
    start = time.perf_counter()
    done = subprocess.run([*start_with, *files], capture_output=True, text=True, env=environment(threads))
    seconds = time.perf_counter() - start
    return {"cannot": done.stderr.strip()[-200:]} if done.returncode else {"seconds": seconds}


def cells(record):
    ours, theirs = (statistics.median(record[who]) for who in ("libsvmx", "LIBSVM"))
    return f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.2f}", "equal" if record["equal"] else "DIFFER"
