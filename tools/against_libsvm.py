"""Train the same cases with libsvmx and LIBSVM 3.37; compare model files byte for byte, and times.

Usage: python tools/against_libsvm.py [--data FOLDER] [--repeat K] [--only TEXT] [--markdown FILE]

FOLDER holds LIBSVM data sets (plain or .xz); sets that are missing are said to be missing. LIBSVM runs
in this process through libsvm-official with one thread; both are timed around training alone, K times
in turn, and the medians are printed. Exit code 1 if any model differs.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.oracle import Oracle

from libsvmx._core.rand import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.training import default_gamma, train_problem
from libsvmx.cli.train import parse_arguments
from libsvmx.io.modelfile import model_text
from libsvmx.io.svmlight import read_data

# set, options; the first group is the one every release must show
CASES = [
    ("a9a", "-c 1 -g 0.05"),
    ("a9a", "-c 100 -g 0.5"),
    ("w7a", "-c 64 -g 7.8125"),
    ("letter.scale", "-c 16 -g 2"),
    ("dna.scale", ""),
    ("reuters-money-fx", "-t 0"),
    *[(name, "") for name in ("a1a", "a2a", "a3a", "a4a", "a6a", "breast-cancer", "dna.scale.t", "fisher")],
    *[(name, "") for name in ("fourclass_scale", "german.numer_scale", "mushrooms", "satimage.scale", "segment.scale")],
    *[(name, "") for name in ("splice", "svmguide1", "vowel.scale", "waveform-noise", "diabetes", "australian")],
    ("madelon", "-c 1 -g 0.7071"),
    ("mushrooms", "-b 1"),
    ("satimage.scale", "-s 1 -n 0.1 -b 1"),
    ("german.numer_scale", "-c 10 -t 1 -g 0.1 -r 1"),
    ("segment.scale", "-c 4 -t 3 -g 0.05"),
    ("splice", "-c 1000 -g 0.01"),
    ("abalone_scale", "-s 4 -c 10"),
    ("abalone_scale", "-s 3 -c 10 -b 1"),
    ("cpusmall", "-s 3 -g 1e-8 -c 100"),
    ("space_ga", "-s 3 -c 10"),
    ("housing", "-s 3 -g 0.0001 -c 10"),
    ("housing", "-s 4 -t 0"),  # 10^7 iterations over a few dozen active variables
    ("svmguide1", "-s 2 -n 0.1 -b 1"),
    ("elec2", ""),
]


def find(folder, name):
    for path in (folder / name, folder / f"{name}.xz"):
        if path.exists():
            return path
    return None


def run(path, options, repeat):
    """(equal, iterations, support vectors, seconds of LIBSVM, seconds of libsvmx)"""
    data = read_data(str(path))
    _, param, _, _ = parse_arguments([*options.split(), str(path)])
    param = default_gamma(param, data.matrix.max_index)
    oracle = Oracle(data.matrix, data.targets, options)
    iterations = []

    class Count(Observer):
        def solved(self, report):
            iterations.append(report.iterations)

    theirs, ours = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        oracle.train()
        theirs.append(time.perf_counter() - start)
        iterations.clear()
        problem = Problem(data.matrix, data.targets)
        start = time.perf_counter()
        model = train_problem(problem, param, Rand(1), Count())
        ours.append(time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as folder:
        equal = oracle.model_bytes(folder) == model_text(model)
    return equal, sum(iterations), model.n_sv, statistics.median(theirs), statistics.median(ours), data.matrix.n_rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "data")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    lines = [
        "| set | rows | options | iterations | support vectors | model files | LIBSVM s | libsvmx s | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    differs = False
    for name, options in CASES:
        if arguments.only not in f"{name} {options}":
            continue
        path = find(arguments.data, name)
        if path is None:
            print(f"| {name} | | | | | not in {arguments.data} | | | |", flush=True)
            continue
        equal, iterations, n_sv, theirs, ours, rows = run(path, options, arguments.repeat)
        differs |= not equal
        lines.append(
            f"| {name} | {rows} | `{options or 'defaults'}` | {iterations:,} | {n_sv:,} | "
            f"{'equal' if equal else '**differ**'} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.1f} |"
        )
        print(lines[-1], flush=True)
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
