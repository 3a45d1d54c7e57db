"""The main job: trainings of libsvmx beside LIBSVM, scikit-learn and scikit-learn-intelex; models are compared."""

import statistics
from dataclasses import replace
from typing import ClassVar

from tools.bench import datasets
from tools.bench.cases import Case, Way
from tools.bench.jobs.trainings import judged, trained
from tools.bench.protocol import TIMES, Job, remarks, rows_of
from tools.bench.report import MEGABYTE, Table, text
from tools.bench.roofline import limit

OURS, ORACLE = "libsvmx", "libsvm"
WAYS = (
    Way(OURS),
    Way("libsvmx-all", threads=0),
    Way(ORACLE, "libsvm"),
    Way("libsvm-all", "libsvm", threads=0),
    Way("sklearn", "sklearn"),
    Way("sklearn-dense", "sklearn", {"dense": True}),
    Way("sklearnex", "sklearn", {"library": "sklearnex"}, threads=0),
    Way("sklearnex-dense", "sklearn", {"library": "sklearnex", "dense": True}, threads=0),
)

MAIN = (
    Case("a9a-c1", "a9a", "-c 1 -g 0.05 -m 100"),
    Case("a9a-0.9", "a9a", "-c 1 -g 0.05", factor=0.9),  # no longer 0/1 data, otherwise the same
    Case("w7a", "w7a", "-c 64 -g 7.8125"),
    Case("mnist-parity", "mnist.scale", "-c 10 -g 0.02", rows=10_000, parity=True),
    Case("letter", "letter.scale", "-c 16 -g 2"),
    Case("madelon", "madelon", "-c 1 -g 0.7071"),
    Case("reuters-linear", "reuters-money-fx", "-t 0 -c 1"),
    Case("cpusmall-svr", "cpusmall", "-s 3"),
    Case("abalone-nu-svr", "abalone", "-s 4"),
)
# every other set of at least 500 rows, with default options
DEFAULTS = (
    *(Case(name, name) for name in ("a1a", "a2a", "a3a", "a4a", "a6a", "a9a.t", "australian", "breast-cancer")),
    *(Case(name, name) for name in ("diabetes", "dna.scale", "dna.scale.t", "elec2", "fisher", "fourclass_scale")),
    *(Case(name, name) for name in ("german.numer_scale", "letter.scale.t", "madelon.t", "mnist.scale.t", "mushrooms")),
    *(Case(name, name) for name in ("reuters-money-fx.t", "satimage.scale", "segment.scale", "splice", "splice.t")),
    *(Case(name, name) for name in ("svmguide1", "svmguide1.t", "vowel.scale", "w7a.t", "w8a", "waveform-noise")),
    *(Case(name, name, "-s 3") for name in ("abalone_scale", "housing", "space_ga")),
)
# other formulations, kernels and probability estimates; less memory and more
SETTINGS = (
    Case("a9a-c1-m2000", "a9a", "-c 1 -g 0.05 -m 2000"),
    Case("a9a-c100", "a9a", "-c 100 -g 0.5 -m 100"),
    Case("a9a-c100-m4000", "a9a", "-c 100 -g 0.5 -m 4000"),
    Case("letter-b1", "letter.scale", "-c 16 -g 2 -b 1"),
    Case("satimage-b1", "satimage.scale", "-c 4 -g 0.5 -b 1"),
    *(Case(f"mnist-parity-m{m}", "mnist.scale", f"-g {1 / 780} -m {m}", rows=10_000, parity=True) for m in (100, 2000)),
    Case("w7a-m4000", "w7a", "-c 64 -g 7.8125 -m 4000"),
    Case("mushrooms-b1", "mushrooms", "-b 1"),
    Case("satimage-nu-b1", "satimage.scale", "-s 1 -n 0.1 -b 1"),
    Case("german-poly", "german.numer_scale", "-c 10 -t 1 -g 0.1 -r 1"),
    Case("segment-sigmoid", "segment.scale", "-c 4 -t 3 -g 0.05"),
    Case("splice-c1000", "splice", "-c 1000 -g 0.01"),
    Case("abalone-scale-nu-svr", "abalone_scale", "-s 4 -c 10"),
    Case("abalone-scale-svr-b1", "abalone_scale", "-s 3 -c 10 -b 1"),
    Case("cpusmall-svr-g1e-8", "cpusmall", "-s 3 -g 1e-8 -c 100"),
    Case("space-ga-svr", "space_ga", "-s 3 -c 10"),
    Case("housing-svr", "housing", "-s 3 -g 0.0001 -c 10"),
    Case("housing-nu-svr-linear", "housing", "-s 4 -t 0"),  # 10^7 iterations over a few dozen active variables
    Case("svmguide1-one-class-b1", "svmguide1", "-s 2 -n 0.1 -b 1"),
)
# takes seconds in all, on sets in the repository
QUICK = (
    Case("heart_scale", "heart_scale"),
    Case("a1a", "a1a"),
    Case("splice", "splice"),
    Case("vowel", "vowel.scale"),
    Case("mushrooms-linear", "mushrooms", "-t 0"),
    Case("abalone-500-svr", "abalone_scale", "-s 3", rows=500),
)
CASES = {"main": MAIN, "defaults": DEFAULTS, "settings": SETTINGS, "quick": QUICK}

COLUMNS = {
    "thr": lambda found, run: str(run.about["threads"] or "all"),
    **TIMES,
    "ratio": lambda found, run: text(found.ratio(run.name, OURS), ".2f"),
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "SV": lambda found, run: f"{run.last['n_sv']:,}",
    "objective": lambda found, run: f"{judged(found, run.name)['objective']:.8g}",
    "gap": lambda found, run: f"{judged(found, run.name)['gap']:.2e}",
    "peak MB": lambda found, run: f"{run.last['peak_bytes'] / MEGABYTE:.0f}",
    "+MB": lambda found, run: f"{run.last['training_bytes'] / MEGABYTE:.0f}",
    "model": lambda found, run: equality(found, run.name),
}
# sets of docs/compatibility.md; ratios of the others follow
BESIDE = ("set", "rows", "options", "iterations", "support vectors", "model files", "LIBSVM s", "libsvmx s", "ratio")
COUNTS = {
    "rows_computed": "{:,} kernel rows",
    "values_computed": "{:.4g} values",
    "row_bytes_written": "{:.4g} bytes of rows written",
    "row_bytes_read_at_most": "at most {:.4g} read",
}


class Training(Job):
    name = "training"
    explained = """\
Each training runs in a new process; data, and what a library loads on first use, are ready before the clock starts.
ratio: time as a multiple of libsvmx with one thread. Objective and KKT gap over all rows are computed from
data and coefficients; iterations are each solver's own. +MB: peak while training less what the data took."""
    parts: ClassVar = {
        "main": "Main cases",
        "defaults": "Every other set of at least 500 rows, with defaults",
        "settings": "Other formulations, kernels, probability estimates and limits of memory",
        "quick": "Seconds in all, on sets that stand in the repository",
    }
    usual = ("main",)

    def options(self, parser):
        names = [way.name for way in WAYS]
        parser.add_argument("--solver", nargs="+", choices=names, metavar="NAME", help=f"of {' '.join(names)}")

    def every_case(self, options):
        return [replace(case, part=part) for part, cases in CASES.items() for case in cases]

    def cases(self, options):
        """Each case once: some are in two parts."""
        return list({case.name: case for case in super().cases(options)}.values())

    def run(self, case, options):
        ways = [way for way in WAYS if not options.solver or way.name in options.solver]
        found = trained(case, ways, options, clock="wall")
        ours = found.last(OURS)
        if ours and len(ours["rho"]) == 1:
            dataset = datasets.load(datasets.prepare(case, options.data, options.cache))
            found.told["limit"] = limit(dataset, datasets.parameter(case.options, found.n_columns), ours)
        return found

    def table(self, found):
        notes = remarks(self, found)
        notes += [f"{run.name}: {told}" for run in found.runs if (told := run.last.get("note"))]
        counts = found.last(OURS).get("counts", {})
        told = [form.format(counts[name]) for name, form in COUNTS.items() if name in counts]
        notes += [f"libsvmx: {', '.join(told)}"] if told else []
        if "limit" in found.told:
            notes.append(roofline(found.told["limit"], found.run(OURS).seconds))
        return Table(found.title(), rows_of(found, COLUMNS), notes)

    def tables(self, results):
        """libsvmx beside LIBSVM, one thread each; times of the others as multiples of libsvmx's; geometric means."""
        others = [way.name for way in WAYS if way.name not in (OURS, ORACLE)]
        others = [name for name in others if any(found.run(name) for found in results)]
        rows = [(*BESIDE, *others)]
        for found in results:
            case, ours, oracle = found.case, found.run(OURS), found.run(ORACLE)
            name = case.data if case.factor == 1 else f"{case.data} times {case.factor:g}"
            counts = (f"{ours.last['iterations']:,}", f"{ours.last['n_sv']:,}") if ours else ("", "")
            models = {"DIFFER": "**differ**"}.get(equality(found, OURS), equality(found, OURS))
            times = (f"{run.seconds:.3f}" if run else "" for run in (oracle, ours))
            ratios = (text(found.ratio(way, OURS), ".2f") for way in (ORACLE, *others))
            rows.append((name, str(found.n_rows), f"`{case.options or 'defaults'}`", *counts, models, *times, *ratios))
        columns = [[ratio for found in results if (ratio := found.ratio(way, OURS))] for way in (ORACLE, *others)]
        means = (f"{statistics.geometric_mean(column):.2f}" if column else "" for column in columns)
        return [Table("Beside LIBSVM, one thread each", [*rows, ("geometric mean", *[""] * 7, *means)])]

    def wrong(self, found):
        names = [run.name for run in found.runs if equality(found, run.name) == "DIFFER"]
        return [f"{name}: its model is not LIBSVM's: DIFFER" for name in names]


def equality(found, name):
    """'equal' or 'DIFFER' from the model file of LIBSVM with one thread; '' if there is nothing to compare."""
    mine, theirs = found.last(name).get("model_hash"), found.last(ORACLE).get("model_hash")
    if name == ORACLE or mine is None or theirs is None:
        return ""
    return "equal" if mine == theirs else "DIFFER"


def roofline(told, seconds):
    return (
        f"limit {told['seconds']:.4f} s = {told['rows_seconds']:.4f} for rows (support vectors instead of rows used, "
        f"{told['value_seconds'] * 1e9:.2f} ns a value) + {told['steps_seconds']:.4f} for steps "
        f"({told['bandwidth'] / 1e9:.1f} GB/s); libsvmx takes {seconds / told['seconds']:.1f} x of limit"
    )


JOBS = {"training": Training()}
