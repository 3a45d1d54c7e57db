"""Measured tables and numbers of README and docs/, from the output of `python -m tools.bench JOB --json FILE`.

Usage: python tools/tables.py [--write [FILE ...]]      names the pages that are out of date, or writes them;
                                                        a FILE is first added to docs/figures/bench, without its
                                                        long lists, such as one with an entry for each fold

The text between <!-- measured: NAME --> and <!-- end --> on a page is BLOCKS[NAME] of today's measurements:
a table with the machine below it, or a number within a sentence. Several files of a job are merged: of a case in two
files the later day counts, on the same day the one with more runs.
"""

import json
import re
import statistics
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "figures" / "bench"
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
BLOCK = re.compile(r"(<!-- measured: (\S+) -->)(.*?)(<!-- end -->)", re.S)
MEGABYTE = 1 << 20
# packages by their names on the pages, and the runs that use them
PROGRAMS = {
    "libsvmx": ("libsvmx", ""),
    "libsvm-official": ("LIBSVM", r"\b(libsvm|LIBSVM)\b"),
    "scikit-learn": ("scikit-learn", r"\b(sklearn|scikit-learn|GridSearchCV|MAPIE)\b"),
    "MAPIE": ("MAPIE", r"\bMAPIE\b"),
}
LONGEST = 8  # the longest list kept from a FILE
LONGEST_TEXT = 100

# in the job training, names for the pages
TRAININGS = {
    "w7a": "w7a `-c 64 -g 7.8125`",
    "a9a-c1": "a9a `-c 1 -g 0.05`",
    "a9a-0.9": "a9a with every value times 0.9",
    "mnist-parity": "mnist.scale, even/odd, `-c 10 -g 0.02`",
    "madelon": "madelon `-c 1 -g 0.7071`",
    "reuters-linear": "reuters-money-fx `-t 0`",
    "cpusmall-svr": "cpusmall `-s 3`, regression",
    "letter": "letter.scale `-c 16 -g 2`, 26 classes",
    "abalone-nu-svr": "abalone `-s 4`, regression",
}
FEW = ("w7a", "a9a-c1", "mnist-parity", "cpusmall-svr", "letter")
SMALL_CALLS = ("train", "-b 1", "-v 10", "-v 5 -b 1")
SEARCHES = {
    "w7a": "w7a",
    "a9a-16100": "a9a (published: a7a)",
    "mixture-10": "mixture",
    "mixture-100": "mixture",
}


@dataclass(frozen=True)
class Result:
    """The results of a case, from the JSON; ``machine``: where they were measured."""

    raw: dict
    machine: dict

    @property
    def name(self):
        return self.raw["case"]["name"]

    @property
    def told(self):
        return self.raw["told"]

    def runs(self, way):
        """The results of all runs, [] if there are none."""
        return next((run["results"] for run in self.raw["runs"] if run["name"] == way), [])

    def median(self, way, key="seconds"):
        values = [one[key] for one in self.runs(way) if one.get(key) is not None]
        return statistics.median(values) if values else None

    def ratio(self, way, other, key="seconds"):
        a, b = self.median(way, key), self.median(other, key)
        return a / b if a and b else None

    def last(self, way, key):
        return self.runs(way)[-1].get(key) if self.runs(way) else None

    @property
    def ways(self):
        """Names of all ways that ran."""
        return [run["name"] for run in self.raw["runs"] if run["results"]]


@cache
def results(job, part=""):
    """The latest results of each case of a job, or of one part."""
    found = {}
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    for file in sorted((file for file in files if file["job"] == job), key=lambda file: file["machine"]["date"]):
        for raw in file["results"]:
            case = raw["case"]
            new, key = Result(raw, file["machine"]), (case["part"], case["name"], case.get("folds"))
            if not new.ways or part not in ("", case["part"]):
                continue
            old = found.get(key)
            if old is None or old.machine["date"] < new.machine["date"] or len(old.ways) < len(new.ways):
                found[key] = new
    if not found:
        raise LookupError(f"{FOLDER} has nothing of job {job} {part}".rstrip())
    return list(found.values())


def named(job, names):
    """The results of these cases, in this order."""
    by_name = {result.name: result for result in results(job)}
    return [by_name[name] for name in names if name in by_name]


# ---- cells ---------------------------------------------------------------------------------------


def digits(value, least=3):
    """``least`` significant digits, or '' for None."""
    if value is None:
        return ""
    rounded = float(f"{value:.{least}g}")  # 9.996 has one decimal less
    return f"{value:,.0f}" if rounded >= 10 ** (least - 1) else f"{rounded:#.{least}g}"


def sampled(result, way):
    """Seconds, with ~ if extrapolated."""
    mark = "~" if (result.last(way, "measured") or 0) < (result.last(way, "parts") or 0) else ""
    return mark + digits(result.median(way))


def megabytes(result, way, key="training_bytes"):
    found = result.median(way, key)
    return "" if found is None else f"{found / MEGABYTE:,.0f}"


def equality(result):
    """Whether all models are equal, that of all threads included if there is one; '' if one is unknown and the others
    do not differ."""
    ways = ["libsvmx", "libsvm", *(["libsvmx-all"] if result.runs("libsvmx-all") else [])]
    models = {result.last(way, "model_hash") for way in ways}
    if len(models - {None}) > 1:
        return "**differ**"
    return "" if None in models else "equal"


def times_faster(result):
    return result.ratio("libsvm", "libsvmx", "cpu")


def rows_by_features(result):
    return f"{result.raw['n_rows']:,} x {result.raw['n_columns']:,}"


def columns_of(ways, key="seconds"):
    """One column of medians per way; ``ways`` maps them to headings."""
    return {heading: lambda one, way=way: digits(one.median(way, key)) for way, heading in ways.items()}


# ---- tables --------------------------------------------------------------------------------------


def table(job, found, columns, rows=None):
    """Markdown; ``columns``: functions of a row, usually a Result; columns that are empty in all rows are left out."""
    cells = {name: [cell(row) for row in rows or found] for name, cell in columns.items()}
    cells = {name: column for name, column in cells.items() if any(column)}
    lines = [tuple(cells), *zip(*cells.values(), strict=True)]
    written = [f"| {' | '.join(line)} |" for line in lines]
    written.insert(1, "|" + "---|" * len(cells))
    return "\n".join(["", *written, "", measured_on(job, found), ""])


def measured_on(job, found):
    """The command and, for each machine, its description, versions of the packages used, day and load; the JSON says
    more."""
    keys = {name for one in found for way in one.ways for name in (way, *one.runs(way)[-1])}
    ways = "; ".join(keys - {"sklearn"})  # for a result this key is the version of scikit-learn
    took_part = {name: called for name, (called, runs) in PROGRAMS.items() if re.search(runs, ways)}
    loads = {}
    for result in found:
        here = result.machine
        known = {called: here["packages"].get(name) for name, called in took_part.items()}
        versions = ", ".join(f"{called} {version}" for called, version in known.items() if version)
        of_all = f"{here['threads']} of {here['processors']} processors"
        key = f"{here['processor']}, {of_all}, {versions}, {here['date']}"
        loads.setdefault(key, []).append(here["load"][0] if here["load"] else 0.0)
    told = [f"{key}, load {max(load):.1f}" for key, load in loads.items()]
    return f"*`python -m tools.bench {job}`: {' — '.join(told)}*"


def trainings():
    return table(
        "training",
        named("training", TRAININGS),
        {
            "case": lambda one: TRAININGS[one.name],
            "rows": lambda one: f"{one.raw['n_rows']:,}",
            **columns_of({"libsvm": "LIBSVM s", "libsvmx": "libsvmx s"}, "cpu"),
            "ratio": lambda one: f"**{digits(times_faster(one), 2)}**",
            "model": equality,
        },
    )


def few_trainings():
    return table(
        "training",
        named("training", FEW),
        {
            "training": lambda one: TRAININGS[one.name],
            "rows": lambda one: f"{one.raw['n_rows']:,}",
            **columns_of({"libsvm": "LIBSVM s", "libsvmx": "libsvmx s"}, "cpu"),
            "times as fast": lambda one: digits(times_faster(one), 2),
        },
    )


def memory():
    return table(
        "training",
        named("training", FEW),
        {
            "case": lambda one: TRAININGS[one.name],
            "LIBSVM MB": lambda one: megabytes(one, "libsvm"),
            "libsvmx MB": lambda one: megabytes(one, "libsvmx"),
        },
    )


def speed_range():
    """The range of speedups."""
    ratios = [times_faster(one) for one in named("training", TRAININGS)]
    return f"{digits(min(ratios), 2)} to {digits(max(ratios), 2)} times"


def speed_sets():
    """The sets of that range."""
    rows = [one.raw["n_rows"] for one in named("training", TRAININGS)]
    return f"{len(rows)} sets of {min(rows):,} to {max(rows):,} rows"


def searches():
    def ours(way, key):
        return lambda one: digits(one.median(way, key))

    def published(who):
        return lambda one: digits(one.told["published"].get(who))

    return table(
        "selection",
        results("selection", "benchmarks") + results("selection", "mixtures"),
        {
            "data": lambda one: SEARCHES[one.name],
            "rows x features": rows_by_features,
            "`SVCCV` CPU s": ours("SVCCV, sigest", "cpu"),
            "by the clock": ours("SVCCV, sigest", "seconds"),
            "CPU s, twice gamma": ours("SVCCV, 2 sigest", "cpu"),
            "TorchKM, L40S": published("TorchKM"),
            "ThunderSVM, L40S": published("ThunderSVM"),
            "scikit-learn, CPU": published("scikit-learn"),
        },
    )


def searches_beside_a_gpu():
    def seconds(way):
        return lambda one: digits(one.median(way))

    found = results("selection", "gpu")
    [device] = {one.last("TorchKM, 2 sigest", "device") for one in found}
    return table(
        "selection --part gpu",
        found,
        {
            "data": lambda one: SEARCHES[one.name],
            "rows x features": rows_by_features,
            "`SVCCV` s, sigest": seconds("SVCCV, sigest"),
            "`SVCCV` s": seconds("SVCCV, 2 sigest"),
            f"TorchKM s, {device}": seconds("TorchKM, 2 sigest"),
            "ratio": lambda one: f"**{digits(one.ratio('TorchKM, 2 sigest', 'SVCCV, 2 sigest'), 2)}**",
            "best score": lambda one: both_scores(one, "SVCCV, 2 sigest", "TorchKM, 2 sigest"),
            "values of C without an end": lambda one: str(one.last("TorchKM, 2 sigest", "unfinished")),
        },
    )


def both_scores(one, *ways):
    return " / ".join(f"{one.last(way, 'best')[1]:.4f}" for way in ways)


def small():
    def both(call):
        return lambda one: " / ".join(digits(1e3 * one.median(way, call), 2) for way in ("libsvm", "libsvmx"))

    columns = {"set": lambda one: one.name, "rows": lambda one: f"{one.raw['n_rows']:,}"}
    columns |= {f"`{call}`".replace("`train`", "train"): both(call) for call in SMALL_CALLS}
    return table("small", results("small"), columns)


def small_ratios():
    """The speedup of every call."""
    return [one.ratio("libsvm", "libsvmx", call) for one in results("small") for call in SMALL_CALLS]


def small_mean():
    return f"{statistics.geometric_mean(small_ratios()):.1f}"


def threads():
    found = results("commands", "threads")
    counts = sorted({run["name"] for one in found for run in one.raw["runs"]}, key=int)

    def gain(one):
        return digits(one.ratio("1", max((run["name"] for run in one.raw["runs"]), key=int)))

    columns = {"run": lambda one: f"`{one.name}`"}
    columns |= {f"{n} thread{'s' * (n != '1')} s": lambda one, n=n: digits(one.median(n)) for n in counts}
    columns["gain, most threads"] = gain
    return table("commands --part threads", found, columns)


def predicting():
    def seconds(who):
        return lambda one: digits(one.median(f"{who}, 1", "cpu"))

    columns = {"rows of": lambda one: one.name} | {f"{who} s": seconds(who) for who in ("svm-predict", "svmx-predict")}
    columns["ratio"] = lambda one: digits(one.ratio("svm-predict, 1", "svmx-predict, 1", "cpu"), 2)
    return table("predicting", results("predicting"), columns)


def reading():
    def rate(way):
        return lambda one: f"{one.told['bytes'] / 1e6 / one.median(way):,.0f}" if one.runs(way) else ""

    columns = {"MB/s": lambda one: one.name, "MB": lambda one: f"{one.told['bytes'] / 1e6:.1f}"}
    return table(
        "reading", results("reading"), columns | {who: rate(who) for who in ("libsvmx", "LIBSVM", "scikit-learn")}
    )


def beside_libsvm(way):
    """Seconds, and LIBSVM's time as a multiple."""

    def cell(one):
        ratio = one.ratio("LIBSVM", way)
        return digits(one.median(way)) + (f" ({digits(ratio, 2)})" if ratio else "")

    return cell


def seeding():
    columns = {
        "set, folds": lambda one: f"{one.name} `{one.raw['case']['options']}`, {one.raw['case']['folds']}",
        "LIBSVM": lambda one: sampled(one, "LIBSVM"),
        "`none`": beside_libsvm("none"),
        "`sir`, chain": beside_libsvm("sir-chain"),
        "`auto`": beside_libsvm("auto"),
        "rows predicted unlike `none`": lambda one: str(one.told["auto"]["unlike_exact"]),
    }
    return table("seeding", results("seeding"), columns)


def grid():
    columns = {
        "`svmx-grid`": lambda one: f"{one.name}, {one.raw['note'].removeprefix('grid of ')}",
        "LIBSVM": lambda one: sampled(one, "LIBSVM"),
        "`--seeder none`": beside_libsvm("svmx-grid, none"),
        "`auto`": beside_libsvm("svmx-grid"),
    }
    return table("grid", results("grid"), columns)


def kernels_of(n_rows=5000):
    return [one for one in results("kernels") if one.raw["n_rows"] == n_rows]


def as_function(kernel, number, n_rows=5000):
    """A number for a kernel given as a function; ``number``: from its result."""
    (one,) = (one for one in kernels_of(n_rows) if one.name.split()[0] == kernel)
    return number(one)


def asked(one):
    """The share of the matrix that fit computes."""
    return f"{one.median('function, libsvmx', 'asked'):.0%}".replace("%", " %")


def search_ratio(one):
    """Time of a search as a multiple of scikit-learn's."""
    return digits(one.ratio("function, libsvmx", "function, sklearn", "search"), 2)


def kernels():
    """One row per form of a kernel."""
    found = kernels_of()
    forms = {"by name": "name", "function": "function", "float32": "float32 matrix", "float64": "float64 matrix"}

    def seconds(way, call):
        return lambda row: digits(row[0].median(f"{row[1]}, {way}", call))

    def more(way):
        return lambda row: megabytes(row[0], f"{row[1]}, {way}", "more_bytes")

    columns = {"kernel": lambda row: row[0].name.split()[0], "given as": lambda row: forms[row[1]]}
    for way, called in (("libsvmx", ""), ("sklearn", "scikit-learn: ")):
        columns |= {called + call: seconds(way, call) for call in ("fit", "predict", "search")}
        columns[called + "+MB"] = more(way)
    return table("kernels", found, columns, [(one, form) for one in found for form in forms])


def kernel_examples():
    """One row per example of the page, by its heading."""
    columns = {"example": lambda one: one.name, "s": lambda one: digits(one.median("libsvmx"))}
    return table("kernels", results("kernels", "examples"), columns)


def slow_case():
    """Millions of iterations over few variables: seconds of LIBSVM and of libsvmx."""
    (one,) = named("training", ["housing-nu-svr-linear"])
    return f"{digits(one.median('libsvm', 'cpu'))} s in LIBSVM and {digits(one.median('libsvmx', 'cpu'))} s here"


def functions(part, **called):
    """A call of libsvmx, the same by its own refits, and scikit-learn's; ``called``: other headings for them."""
    found = results("functions", part)
    columns = {
        "set": lambda one: f"{one.raw['case']['data']} `{one.raw['case']['options']}`",
        "rows x features": rows_by_features,
    }
    headings = {"libsvmx": "libsvmx s", "refits": "refits s", "scikit-learn": "scikit-learn s", **called}
    return table(f"functions --part {part}", found, columns | columns_of(headings))


def estimators():
    """Milliseconds of scikit-learn and of libsvmx."""

    def both(call):
        ways = [f"{way}, 1" for way in ("sklearn", "libsvmx")]
        return lambda one: " / ".join(digits(1e3 * one.median(way, call), 2) for way in ways)

    columns = {"set": lambda one: f"{one.name} `{one.raw['case']['options']}`", "rows x features": rows_by_features}
    calls = ("fit", "predict", "predict_proba")
    return table("estimators", results("estimators", "calls"), columns | {f"`{call}`": both(call) for call in calls})


def intervals():
    called = {"jackknife": "jackknife+", "cv": "CV+, 10 folds"}
    columns = {
        "set": lambda one: one.name,
        "rows x features": rows_by_features,
        "intervals": lambda one: called[one.raw["case"]["part"]],
        **columns_of({"libsvmx": "libsvmx s", "MAPIE": "MAPIE s"}),
        "ratio": lambda one: digits(one.ratio("MAPIE", "libsvmx"), 2),
    }
    return table("intervals", results("intervals"), columns)


def free_of_all(one):
    """Free support vectors, of all support vectors."""
    told = next(iter(one.told["judged"].values()))
    return f"{told['n_sv'] - told['n_bounded']:,} of {told['n_sv']:,}"


def large_costs():
    """Working sets where SMO needs many steps."""

    def told(one):
        options = re.sub(r"[\d.]+$", lambda number: f"{float(number[0]):.3g}", one.raw["case"]["options"])
        return f"{one.raw['case']['data']} `{options.removeprefix('-s 0 -t 2 ').replace('.0 ', ' ')}`"

    columns = {
        "data": told,
        "rows x features": rows_by_features,
        "free SV of all": free_of_all,
        **columns_of({"smo": "`smo` s", "chunked": "`chunked` s", "irwls": "`irwls` s", "LIBSVM": "LIBSVM s"}),
    }
    return table("chunked --part targets", results("chunked", "targets"), columns)


def interior_point():
    columns = {
        "data": lambda one: one.name,
        "rows x features": rows_by_features,
        **columns_of({"crsvm": "`crsvm` s", "LIBSVM": "LIBSVM s"}),
        "iterations of `crsvm`": lambda one: str(one.last("crsvm", "iterations")),
    }
    return table("interior --part linear", results("interior", "linear"), columns)


def updating():
    """A sliding window over a stream, one row per C and gamma."""
    (one,) = results("updating", "stream")
    columns = {"setting": lambda way: way, "updates": lambda way: f"{one.last(way, 'updates'):,}"}
    columns |= {
        heading: lambda way, key=key: digits(one.last(way, key))
        for key, heading in {"path": "paths s", "cold": "cold starts s", "libsvm": "LIBSVM s"}.items()
    }
    return table("updating --case elec2", [one], columns, one.ways)


def distributed():
    def last(one, key):
        return one.last(one.name, key)

    columns = {
        "rows x features": lambda one: " x ".join(f"{int(n):,}" for n in one.name.split("x")),
        "blocks": lambda one: str(last(one, "blocks")),
        "iterations": lambda one: str(last(one, "iterations")),
        "s per iteration": lambda one: digits(last(one, "seconds") / last(one, "iterations"), 2),
        "kB per iteration: to workers, from workers": lambda one: ", ".join(
            digits(last(one, key) / last(one, "iterations") / 1e3) for key in ("sent_bytes", "received_bytes")
        ),
        "GB: each worker, client": lambda one: ", ".join(digits(most, 2) for most in last(one, "most_gigabytes")),
    }
    found = results("distributed", "cost")
    rows = int(found[0].name.split("x")[0]) // last(found[0], "blocks")
    command = f"distributed --part cost --size {' '.join(one.name for one in found)} --block {rows}"
    return table(command, found, columns)


def rows_apart():
    """The largest difference between the scores of a search and scikit-learn's, in rows."""
    return str(max(one.told["rows_apart"] for one in results("selection", "checked")))


BLOCKS = {
    "trainings": trainings,
    "few-trainings": few_trainings,
    "memory": memory,
    "speed": speed_range,
    "speed-sets": speed_sets,
    "searches": searches,
    "searches-gpu": searches_beside_a_gpu,
    "small": small,
    "small-mean": small_mean,
    "threads": threads,
    "predicting": predicting,
    "reading": reading,
    "seeding": seeding,
    "grid": grid,
    "kernels": kernels,
    "kernel-examples": kernel_examples,
    "rbf-asked": partial(as_function, "rbf", asked),
    "tanimoto-asked": partial(as_function, "tanimoto", asked),
    "rbf-search": partial(as_function, "rbf", search_ratio),
    "rbf-search-1000": partial(as_function, "rbf", search_ratio, 1000),
    "rows-apart": rows_apart,
    "slow-case": slow_case,
    "path": partial(
        functions,
        "path",
        **{"libsvmx": "`c_path` s", "refits": "`grid_search` s", "scikit-learn": "`GridSearchCV` s"},
    ),
    **{
        part: partial(functions, part)
        for part in ("permutation", "many", "influence", "labels", "elimination", "linear")
    },
    "estimators": estimators,
    "intervals": intervals,
    "large-costs": large_costs,
    "interior-point": interior_point,
    "updating": updating,
    "distributed": distributed,
}


# ---- pages ---------------------------------------------------------------------------------------


def rendered(text):
    """A page with up-to-date blocks."""

    def block(found):
        begin, name, _, end = found.groups()
        return begin + BLOCKS[name]() + end

    return BLOCK.sub(block, text)


def brief(value):
    """A JSON value without its long lists."""
    if isinstance(value, dict):
        return {key: brief(one) for key, one in value.items() if not is_long(one)}
    return [brief(one) for one in value] if isinstance(value, list) else value


def is_long(value):
    return (
        len(value) > (LONGEST if isinstance(value, list) else LONGEST_TEXT) if isinstance(value, list | str) else False
    )


def take(path):
    """Adds a file of measurements to the others, without the release of the operating system's kernel."""
    file = json.loads(path.read_text(encoding="utf-8"))
    file["machine"]["system"] = re.sub(r" [^,]*", "", file["machine"].get("system", ""), count=1)
    lines = ",\n".join(json.dumps(brief(one)) for one in file["results"])
    head = f'"job": "{file["job"]}",\n"machine": {json.dumps(file["machine"])}'
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / path.name).write_text(f'{{{head},\n"results": [\n{lines}\n]}}\n', encoding="utf-8")


def main():
    writes, *files = sys.argv[1:] or [""]
    if writes not in ("", "--write"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for name in files:
        take(Path(name))
    wrong = []
    for name in PAGES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (new := rendered(text)) != text:
            wrong.append(name)
            if writes:
                path.write_text(new, encoding="utf-8")
    done = "written" if writes else "not as it was measured; python tools/tables.py --write"
    print("\n".join(f"{name}: {done}" for name in wrong) or "tables: as they were measured")
    return int(bool(wrong) and not writes)


if __name__ == "__main__":
    sys.exit(main())
