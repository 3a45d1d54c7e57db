"""Command line of the benchmarks. Run from the repository root.

python -m tools.bench                 train cases with libsvmx and its peers
python -m tools.bench predicting      svmx-predict beside svm-predict
python -m tools.bench reading         readers of data files
python -m tools.bench seeding         cross-validation with and without seeding, beside LIBSVM
python -m tools.bench loo             leave-one-out beside LIBSVM
python -m tools.bench grid            svmx-grid with and without seeding, beside LIBSVM
python -m tools.bench updating        rows that join and leave a trained state, beside cold starts
python -m tools.bench chunked         working sets solved in cache, beside the exact solver and LIBSVM
python -m tools.bench choosing        solver auto beside the solvers it chooses from
python -m tools.bench interior        the interior-point method, beside itself unreduced, LIBSVM and LIBLINEAR
python -m tools.bench distributed     rows on a Dask cluster: equal results, memory, cost of an iteration
python -m tools.bench commands        whole commands by number of threads and by CPU target
python -m tools.bench small           svm_train of LIBSVM's Python module and of libsvmx.svmutil on small sets
python -m tools.bench selection       SVCCV by TorchKM's protocol of model selection, beside its published times
python -m tools.bench estimators      estimators and searches beside scikit-learn and scikit-learn-intelex
python -m tools.bench functions       calls that stand for many trainings, beside refits and scikit-learn
python -m tools.bench intervals       jackknife+ and CV+ beside MAPIE
python -m tools.bench kernels         a kernel by name, as a function and as a matrix, beside scikit-learn
python -m tools.bench growth          training by number of rows, beside scikit-learn and oneDAL; --saved draws again
python -m tools.bench latencies       how fast Ctrl-C, SIGTERM and a time limit end each command
"""

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from itertools import groupby
from pathlib import Path

from tools.bench import ROOT, machine
from tools.bench.measure import Unavailable
from tools.bench.protocol import Found

# modules of tools.bench.jobs, each with JOBS; the first is the default
JOBS = (
    "training",
    "predicting",
    "reading",
    "seeding",
    "loo",
    "grid",
    "updating",
    "chunked",
    "choosing",
    "interior",
    "distributed",
    "commands",
    "small",
    "selection",
    "estimators",
    "functions",
    "intervals",
    "kernels",
    "growth",
    "latencies",
)


def job_of(name):
    return import_module(f"tools.bench.jobs.{'seeding' if name == 'loo' else name}").JOBS[name]


def arguments(argv, job=None):
    """The job, by default the one named in ``argv``, and its options."""
    job = job or job_of(argv[0] if argv and argv[0] in JOBS else JOBS[0])
    parser = ArgumentParser("python -m tools.bench", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("job", nargs="?", choices=JOBS, default=JOBS[0], metavar="JOB", help=f"({JOBS[0]})")
    add("--part", nargs="+", choices=job.parts, help=f"{' '.join(job.parts)} ({' '.join(job.usual) or 'all'})")
    add("--case", nargs="+", default=(), metavar="NAME", help="only these, of any part; see --list")
    add("--list", action="store_true", help="cases, part by part")
    add("--quick", action="store_true", help="the same with few rows")
    add("--data", type=Path, default=ROOT.parent / "shared" / "data", help="LIBSVM sets, plain or .xz")
    add("--cache", type=Path, default=ROOT / "build" / "bench", help="prepared data and models")
    add("--repeat", type=int, default=job.repeat, metavar="K", help=f"of each, in turn ({job.repeat})")
    add("--json", type=Path, metavar="FILE", help="everything raw: single times, versions, machine")
    add("--markdown", type=Path, metavar="FILE", help="the tables")
    add("--figures", type=Path, metavar="FOLDER", help="where figures are drawn")
    for flag, value, told in (
        ("--max-seconds-once", job.max_seconds_once, "slower ones run once"),
        ("--timeout", 7200, "seconds of a single process"),
        ("--limit", job.limit, "seconds of a single process"),
        ("--megabytes", job.megabytes, "of kernel rows"),
        ("--seconds", job.seconds, "for LIBSVM in each case; the rest is extrapolated"),
    ):
        if value is not None:
            add(flag, type=float, default=value, metavar="X", help=f"{told} ({value:g})")
    job.options(parser)
    options = parser.parse_args(argv)
    unknown = set(options.case) - {case.name for case in job.every_case(options)}
    if unknown:
        parser.error(f"no such case: {' '.join(sorted(unknown))}")
    return job, options


def run(job, options):
    """Exit code 1 if something is wrong, 2 if nothing could be run."""
    here = job.machine = machine.description()
    print(f"{machine.lines(here)}\n{job.explained}", flush=True)
    results = []
    for part, cases in groupby(job.cases(options), key=lambda case: case.part):
        print(f"\n{job.parts.get(part, '')}".rstrip())
        for case in cases:
            try:
                results.append(job.run(case, options))
            except Unavailable as reason:
                results.append(Found(case, str(reason)))
            print(job.table(results[-1]).text() if not results[-1].cannot else not_run(results[-1]), flush=True)
            # after each case, so that stopping a long run keeps the results so far
            if options.json:
                options.json.write_text(raw(job, results), encoding="utf-8")
            if options.markdown:
                options.markdown.write_text(markdown(job, results), encoding="utf-8")
        for table in job.tables([found for found in results if found.case.part == part and not found.cannot]):
            print(table.text(), flush=True)
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        print(job.draw(options.figures, results))
    if any(job.wrong(found) for found in results):
        return 1
    return 0 if any(found.measured() for found in results) else 2


def raw(job, results):
    """JSON, one line per case."""
    lines = ",\n".join(json.dumps({**found.raw(), "wrong": job.wrong(found)}) for found in results)
    return f'{{"job": "{job.name}",\n"machine": {json.dumps(job.machine)},\n"results": [\n{lines}\n]}}\n'


def not_run(found):
    return f"{found.case.title()}: NOT RUN: {found.cannot}\n"


def markdown(job, results):
    """For each part the table of all cases, then the cases one by one."""
    lines = []
    for part, group in groupby(results, key=lambda found: found.case.part):
        of_part = list(group)
        done = [found for found in of_part if not found.cannot]
        lines += [f"## {job.parts.get(part, job.name)}", ""]
        lines += [table.markdown() for table in (*job.tables(done), *map(job.table, done))]
        lines += [f"- {not_run(found)}" for found in of_part if found.cannot]
    return "\n".join(lines)


def main(argv, job=None):
    job, options = arguments(argv, job)
    if not options.list:
        return run(job, options)
    for part, cases in groupby(job.every_case(options), key=lambda case: case.part):
        print(f"{part or job.name}: {' '.join(case.name for case in cases)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
