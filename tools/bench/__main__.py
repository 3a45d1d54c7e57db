"""Command line of the benchmarks. Run from the repository root.

python -m tools.bench            train cases with libsvmx and its peers
python -m tools.bench predict    svmx-predict beside svm-predict
python -m tools.bench read       readers of data files
python -m tools.bench seeding    cross-validation with and without seeding, beside LIBSVM
python -m tools.bench loo        leave-one-out beside LIBSVM
python -m tools.bench grid       svmx-grid with and without seeding, beside LIBSVM
python -m tools.bench updating   rows that join and leave a trained state, beside trainings from nothing
python -m tools.bench chunked    working sets solved in cache, beside the exact solver and LIBSVM
python -m tools.bench spread     rows on a Dask cluster: equal results, memory, cost of an iteration
python -m tools.bench interior   the interior-point method, beside itself unreduced, LIBSVM and LIBLINEAR
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.bench import (
    ROOT,
    chunked,
    chunkedcases,
    chunkedtables,
    interior,
    interiorcases,
    interiortables,
    plot,
    predicting,
    reading,
    report,
    searching,
    seeding,
    updating,
)
from tools.bench.cases import GROUPS, LEAVING, SEARCHING, SEEDING, named
from tools.bench.machine import description
from tools.bench.peers import SOLVERS
from tools.bench.training import OURS, Settings, chosen_solvers, run_case

# name: cases, what yields the results so far after each of them, and their tables
VALIDATIONS = {
    "seeding": (SEEDING, seeding.seeding, seeding.markdown),
    "loo": (LEAVING, seeding.leaving, seeding.markdown),
    "grid": (SEARCHING, searching.searching, searching.markdown),
}

JOBS = ("predict", "read", "updating", "chunked", "interior", "spread", *VALIDATIONS)


def common(parser):
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="LIBSVM sets, plain or .xz")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "bench", help="prepared data and models")
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="runs of each, in turn (3; updating: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything raw: single times, versions, machine")
    return parser


def arguments(argv):
    """The job's name, and its options."""
    job = argv[0] if argv and argv[0] in JOBS else "train"
    parser = common(argparse.ArgumentParser("python -m tools.bench", description=__doc__, formatter_class=RAW))
    if job == "train":
        parser.add_argument("--group", choices=GROUPS, default="main")
        parser.add_argument("--case", nargs="+", choices=named(), metavar="NAME", help="instead of a group; see --list")
        parser.add_argument(
            "--solver", nargs="+", choices=[s.name for s in SOLVERS], metavar="NAME", help="default: all"
        )
        parser.add_argument("--list", action="store_true", help="cases and solvers")
        parser.add_argument(
            "--max-seconds-once", type=float, default=120, metavar="S", help="slower ones run once (120)"
        )
        parser.add_argument("--timeout", type=float, default=3600, metavar="S", help="of a single training (3600)")
        parser.add_argument("--plot", type=Path, metavar="FILE.png", help="bar chart of ratios")
        parser.add_argument("--markdown", type=Path, metavar="FILE", help="table of libsvmx beside LIBSVM")
        return job, parser.parse_args(argv)
    if job in VALIDATIONS:
        validation_options(parser, job)
    elif job == "updating":
        updating_options(parser)
        options = parser.parse_args(argv[1:])
        unknown = set(options.case) - {case.name for case in updating.CASES}
        if unknown:
            parser.error(f"no such case: {' '.join(sorted(unknown))}")
        return job, options
    elif job == "chunked":
        chunked_options(parser)
    elif job == "spread":
        spread_options(parser)
    elif job == "interior":
        interior_options(parser)
    elif job == "predict":
        parser.add_argument("--svm-predict", type=Path, metavar="PATH", help="LIBSVM's command, for whole commands")
    else:
        parser.add_argument("--svm-train", type=Path, metavar="PATH", help="LIBSVM's command, to time its C reader")
    return job, parser.parse_args(argv[1:])


def validation_options(parser, job):
    names = [case.name for case in VALIDATIONS[job][0]]
    parser.add_argument("--case", nargs="+", choices=names, metavar="NAME", help=f"of {' '.join(names)}; default: all")
    parser.add_argument(
        "--seconds",
        type=float,
        default=600,
        metavar="S",
        help="for LIBSVM in each case; the rest is extrapolated (600)",
    )
    parser.add_argument(
        "-m", dest="megabytes", type=float, default=100, metavar="MB", help="kernel rows, for all (100)"
    )
    parser.add_argument("--max-seconds-once", type=float, default=120, metavar="S", help="slower ones run once (120)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="S", help="of a single run (7200)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables")
    if job == "seeding":
        parser.add_argument("--folds", nargs="+", type=int, default=seeding.FOLDS, metavar="K", help="(3 10 100)")
        parser.add_argument(
            "--seeder", nargs="+", choices=seeding.CHOICES, metavar="NAME", help=f"of {' '.join(seeding.CHOICES)}"
        )
    if job == "grid":
        parser.add_argument("--log2c", default="-5,13,2", metavar="A,B,STEP", help="as --log2c=-5,13,2")
        parser.add_argument("--log2g", default="3,-15,-2", metavar="A,B,STEP", help="as --log2g=3,-15,-2")
        parser.add_argument("--fold", type=int, default=5, metavar="K", help="(5)")


def updating_options(parser):
    names = [case.name for case in updating.CASES]
    parser.add_argument("case", nargs="*", metavar="CASE", help=f"of {' '.join(names)}; default: all")
    parser.add_argument("--quick", action="store_true", help="fewer points and rows")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="a figure of each case that has one")
    parser.add_argument("--tight", action="store_true", help="fisher: LIBSVM at 1e-6 and 1e-9, too")
    parser.add_argument(
        "--limit", type=float, default=60, metavar="S", help="fisher: CPU time of LIBSVM, and of the seeded SMO (60)"
    )
    parser.add_argument("--every", type=int, default=1, metavar="K", help="elec2: trainings on every K-th window (1)")
    parser.add_argument("--libsvm", action="store_true", help="a9a: LIBSVM's training, too")
    parser.add_argument("--max-seconds-once", type=float, default=20, metavar="S", help="slower ones run once (20)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="S", help="of a single process (7200)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables")
    parser.set_defaults(repeat=5)


def chunked_options(parser):
    parts = [part.name for part in chunkedcases.PARTS]
    parser.add_argument("--part", nargs="+", choices=parts, metavar="NAME", help=f"of {' '.join(parts)}; default: all")
    parser.add_argument("--case", nargs="+", default=(), metavar="NAME", help="only these, as the tables name them")
    parser.add_argument("--quick", action="store_true", help="tiny sets")
    parser.add_argument("--large", action="store_true", help="rules: a9a, too")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="CPU time of a single training (600)")
    parser.add_argument("--working-set", type=int, default=0, metavar="Q", help="its size, wherever there is one")
    parser.add_argument("-m", dest="megabytes", type=float, default=100, metavar="MB", help="kernel rows (100)")
    parser.add_argument("--max-seconds-once", type=float, default=120, metavar="S", help="slower ones run once (120)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="S", help="of a single process (7200)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables")


def spread_options(parser):
    parser.add_argument(
        "--size", nargs="*", default=["5000000x50"], metavar="MxN", help="generated rows x features (5000000x50)"
    )
    parser.add_argument("--no-equal", dest="equal", action="store_false", help="without the comparison on a9a")
    parser.add_argument("--block", type=int, default=250_000, metavar="ROWS", help="of a block (250,000)")
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="processes of one thread (2)")
    parser.add_argument("--memory", default="8GB", metavar="SIZE", help="limit of a worker (8GB)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables")


def interior_options(parser):
    names = list(interiorcases.PARTS)
    parser.add_argument("--part", nargs="+", choices=names, metavar="NAME", help=f"of {' '.join(names)}; default: all")
    parser.add_argument("--case", nargs="+", default=(), metavar="NAME", help="only these, as the tables name them")
    parser.add_argument("--quick", action="store_true", help="tiny sets")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="CPU time of a single process (600)")
    parser.add_argument("--max-seconds-once", type=float, default=120, metavar="S", help="slower ones run once (120)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="S", help="of a single process (7200)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the tables")


RAW = argparse.RawDescriptionHelpFormatter


def train(options):
    """Exit code 1 if a model of libsvmx differs from LIBSVM's, 2 if nothing could be run."""
    if options.list:
        for name, group in GROUPS.items():
            print(f"{name}: " + " ".join(case.name for case in group))
        print("solvers: " + " ".join(f"{s.name} ({s.label})" for s in SOLVERS))
        return 0
    cases = [named()[name] for name in options.case] if options.case else GROUPS[options.group]
    solvers = chosen_solvers(options.solver)
    settings = Settings(options.data, options.cache, options.repeat, options.max_seconds_once, options.timeout)
    machine = description()
    print(report.heading(machine), flush=True)
    results = []
    for case in cases:
        results.append(run_case(case, solvers, settings))
        print("\n" + report.case_table(results[-1]), flush=True)
        # after each case, so that a long run that is stopped leaves what it has
        write_json(options.json, {"machine": machine, "results": [found.raw() for found in results]})
        if options.markdown:
            options.markdown.write_text(report.markdown(results), encoding="utf-8")
    print("\n" + report.summary(results, solvers))
    if options.plot:
        print(plot.save_plot(options.plot, results, solvers))
    ours = [(found, found.entry(OURS)) for found in results]
    if any(found.equality(entry) == "DIFFER" for found, entry in ours if entry):
        return 1
    return 0 if any(entry.times for found in results for entry in found.entries) else 2


def validate(job, options):
    """Exit code 1 if LIBSVM's path predicts otherwise than LIBSVM, 2 if nothing could be run."""
    _, generator, markdown = VALIDATIONS[job]
    machine = description()
    print(report.machine_lines(machine) + "\n" + EXPLANATION, flush=True)
    results = []
    for results in generator(options):
        write_json(options.json, {"machine": machine, "results": [found.raw() for found in results]})
        if options.markdown:
            options.markdown.write_text(markdown(results), encoding="utf-8")
    if any(found.differs() for found in results):
        return 1
    return 0 if any(run.results for found in results for run in found.runs) else 2


def update(options):
    """Exit code 1 if a path has missed the optimum, 2 if nothing could be run."""
    machine = description()
    print(report.machine_lines(machine) + "\n" + UPDATES_EXPLAINED, flush=True)
    results = []
    for results in updating.updating(options):
        write_json(options.json, {"machine": machine, "results": [found.raw() for found in results]})
        if options.markdown:
            options.markdown.write_text(updating.markdown(results), encoding="utf-8")
    if any(found.differs() for found in results):
        return 1
    return 0 if any(found.measured() for found in results) else 2


def solve_chunks(options):
    """Exit code 1 if a solver in chunks missed the optimum, 2 if nothing could be run."""
    machine = description()
    print(report.machine_lines(machine) + "\n" + CHUNKS_EXPLAINED, flush=True)
    results = []
    for results in chunked.chunked(options):
        write_json(options.json, {"machine": machine, "results": [found.raw() for found in results]})
        if options.markdown:
            options.markdown.write_text(chunkedtables.markdown(results, chunkedcases.PARTS), encoding="utf-8")
    if any(found.wrong() for found in results):
        return 1
    return 0 if any(found.measured() for found in results) else 2


def spread_rows(options):
    """Exit code 1 if a result over the cluster is not the one of a single process."""
    from tools.bench import spreading  # Dask

    machine = description()
    print(report.machine_lines(machine), flush=True)
    tables, found = spreading.run(options)
    write_json(options.json, {"machine": machine, **found})
    if options.markdown:
        options.markdown.write_text(tables, encoding="utf-8")
    return 1 if any(one["difference"] > spreading.DIFFERENT for one in found["equal"]) else 0


def solve_interior(options):
    """Exit code 1 if the interior-point method missed the optimum, 2 if nothing could be run."""
    machine = description()
    print(report.machine_lines(machine) + "\n" + INTERIOR_EXPLAINED, flush=True)
    results = []
    for results in interior.interior(options):
        write_json(options.json, {"machine": machine, "results": [found.raw() for found in results]})
        if options.markdown:
            options.markdown.write_text(interiortables.markdown(results), encoding="utf-8")
    if any(found.wrong() for found in results):
        return 1
    return 0 if any(found.measured() for found in results) else 2


INTERIOR_EXPLAINED = """\
One thread; medians of CPU time. Variants of the reduction: of the solve alone, all in one process that takes them in
turn, x: times as fast as unreduced in the same round, then iterations. Sets: of the whole training, one process for
each, data in memory before; ratio: LIBSVM's time by ours. Objectives and residuals are computed from data and
coefficients."""

CHUNKS_EXPLAINED = """\
Medians of CPU time of the training alone (all threads: time on the clock), one process for each. chunked: working sets
by pair steps, irwls: by iterated least squares, smo: the exact solver; q: the size of working sets. Gap, objective and
support vectors are computed from data and coefficients; above smo: the objective, relatively. > S: not done by then."""

UPDATES_EXPLAINED = """\
One thread; medians of CPU time until there is a model, data are in memory before. MID: all rows along one path;
SID: one by one; LIBSVM and cold (libsvmx): training from nothing to the tolerance named; seeded: libsvmx's SMO from
the old optimum. theory: breakpoints of SID times ||d||_2 / ||d||_1, d the changes of alpha asked for."""

EXPLANATION = """\
One thread, one process for each run; data are read before the clock starts, but by svmx-grid, a whole command.
LIBSVM / run: LIBSVM's time as a multiple of the run's. ~ is extrapolated from the parts measured, see the remarks."""


def write_json(path, content):
    if path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main(argv):
    job, options = arguments(argv)
    if job == "train":
        return train(options)
    if job in VALIDATIONS:
        return validate(job, options)
    if job == "updating":
        return update(options)
    if job == "chunked":
        return solve_chunks(options)
    if job == "spread":
        return spread_rows(options)
    if job == "interior":
        return solve_interior(options)
    machine = description()
    print(report.heading(machine).splitlines()[0], flush=True)
    records = predicting.run(options) if job == "predict" else reading.run(options)
    write_json(options.json, {"machine": machine, "results": records})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
