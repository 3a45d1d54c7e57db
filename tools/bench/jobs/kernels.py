"""One kernel in every form, beside scikit-learn: by name, as a Python function, as a matrix."""

import re
from contextlib import chdir, redirect_stdout
from functools import partial
from io import StringIO
from typing import ClassVar

import numpy as np

import libsvmx
from tools.bench import ROOT, datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, measure, peak_bytes, reset_peak, resident_bytes, timed
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import MEGABYTE, Table, short, text
from tools.bench.turns import Run, take_turns

OURS, THEIRS = "libsvmx", "sklearn"
NAMED, CALLED, MATRICES = "by name", "function", ("float32", "float64")
COSTS, FOLDS = [2.0**c for c in range(-4, 6)], 5
APART = 0.01  # allowed difference in accuracy, as kernel values are rounded differently
CALLS = ("fit", "predict", "search")
COLUMNS = {
    **{f"{call} s": lambda found, run, call=call: short(run.median(call)) for call in CALLS},
    "+MB": lambda found, run: f"{run.median('more_bytes') / MEGABYTE:,.0f}",
    "values": lambda found, run: text(run.last["asked"], ".0%"),
}
EXAMPLES = "docs/ownkernels.md"
RIGHT = {"right": lambda found, run: f"{run.last['right']:.2%}"}


class Kernels(Job):
    name = "kernels"
    explained = f"""\
CPU seconds of one thread: fit, predict of the same rows, and GridSearchCV over {len(COSTS)} values of C and {FOLDS}
folds without a last fit. +MB: what fit added to the peak, the given matrix not counted. values: those that fit asked
a function for, as a share of the matrix. A matrix is there before the clock starts. Of an example, all of it."""
    parts: ClassVar[dict[str, str]] = {
        "rbf": "RBF",
        "tanimoto": "Tanimoto, rows of 0 and 1",
        "large": "20,000 rows",
        "examples": f"The examples of {EXAMPLES}",
    }
    usual = ("rbf", "tanimoto", "examples")
    repeat, max_seconds_once = 3, 20.0

    def every_case(self, options):
        return [
            *(Case(f"rbf {n}", "covtype-like", "-g 0.2 -c 1", n, part="rbf") for n in (1000, 5000)),
            *(Case(f"tanimoto {n}", "mushrooms", "-c 1", n, part="tanimoto") for n in (1000, 5000)),
            Case("rbf 20000", "covtype-like", "-g 0.2 -c 1", 20000, part="large"),
            Case("tanimoto 20000", "a9a", "-c 1", 20000, part="large"),
            *(Case(name, EXAMPLES, part="examples") for name in examples()),
        ]

    def run(self, case, options):
        if case.part == "examples":
            once = partial(measure, {"call": "jobs.kernels:example", "example": case.name}, 1, options.timeout)
            found = Found(case, runs=[Run(OURS, once)])
            take_turns(found.runs, options.repeat, options.max_seconds_once)
            return found
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        job = {"call": "jobs.kernels:calls", "npz": str(npz), "options": case.options, "kernel": case.name.split()[0]}
        for form in (NAMED, CALLED, *MATRICES):
            for way in (OURS, THEIRS):
                once = partial(measure, {**job, "way": way, "form": form}, 1, options.timeout)
                found.runs.append(Run(f"{form}, {way}", once, about={"way": way, "form": form}))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        columns = TIMES if found.case.part == "examples" else COLUMNS | RIGHT
        return Table(found.title(), rows_of(found, columns), remarks(self, found))

    def tables(self, results):
        """libsvmx's numbers beside scikit-learn's."""
        rows = [("rows", "kernel", *COLUMNS, *(f"sklearn: {name}" for name in COLUMNS if name != "values"))]
        for found in results if results and results[0].case.part != "examples" else ():
            for form in (NAMED, CALLED, *MATRICES):
                ours, theirs = (cells(found, f"{form}, {way}") for way in (OURS, THEIRS))
                rows.append((f"{found.n_rows:,}", form, *ours, *theirs[:-1]))
        return [Table("CPU seconds", rows)] if len(rows) > 1 else []

    def wrong(self, found):
        shares = {run.name: run.last["right"] for run in found.runs if run.results and "right" in run.last}
        usual = next(iter(shares.values()), 0.0)
        return [
            f"{name}: {share:.2%} are right: DIFFERS" for name, share in shares.items() if abs(share - usual) > APART
        ]


def cells(found, name):
    """The columns of a run, empty if it was not measured."""
    run = found.run(name)
    return [cell(found, run) if run else "" for cell in COLUMNS.values()]


def examples():
    """Code of each example of the page, by its heading; a second one below a heading has a number."""
    found = {}
    for section in (ROOT / EXAMPLES).read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, *codes = section.split("\n")[0].strip("`"), *re.findall(r"```python\n(.*?)```", section, re.S)
        found.update({f"{heading} {i}" if i > 1 else heading: code for i, code in enumerate(codes, 1)})
    return found


# ---- in a child ----------------------------------------------------------------------------------


class Function:
    """A kernel as a user would write it; counts the values computed."""

    def __init__(self, kernel, gamma):
        self.kernel, self.gamma, self.asked = kernel, gamma, 0

    def __call__(self, A, B):
        self.asked += len(A) * len(B)
        dots = A @ B.T
        a, b = (np.einsum("ij,ij->i", rows, rows) for rows in (A, B))
        if self.kernel == "tanimoto":
            return dots / (a[:, None] + b - dots)
        return np.exp(-self.gamma * np.maximum(a[:, None] + b - 2 * dots, 0.0))


def calls(job):
    """{way, form, kernel, npz, options}: seconds of fit, predict and a search."""
    try:
        from sklearn import svm
        from sklearn.model_selection import GridSearchCV
    except ImportError as reason:
        raise Unavailable(f"scikit-learn is not installed: {reason}") from None
    dataset, name, form = datasets.load(job["npz"]), job["kernel"], job["form"]
    if (form, job["way"], name) == (NAMED, THEIRS, "tanimoto"):
        raise Unavailable("scikit-learn has no such kernel")
    X, y = datasets.scipy_matrix(dataset).toarray(), dataset.targets
    param = datasets.parameter(job["options"], X.shape[1])
    function = Function(name, param.gamma)
    kernel = {NAMED: name, CALLED: function}.get(form, "precomputed")
    rows = function(X, X).astype(form) if form in MATRICES else X
    estimator = (libsvmx if job["way"] == OURS else svm).SVC(C=param.C, gamma=param.gamma, kernel=kernel)
    few = np.r_[np.flatnonzero(y == y[0])[:10], np.flatnonzero(y != y[0])[:10]]
    first = rows[np.ix_(few, few)] if form in MATRICES else rows[few]
    estimator.fit(first, y[few]).predict(first)  # loads what is loaded on first use
    function.asked, before = 0, resident_bytes()
    reset_peak()
    fit = timed(partial(estimator.fit, rows, y))
    told = {"fit": fit, "more_bytes": max(peak_bytes() - before, 0)}
    told["asked"] = function.asked / len(y) ** 2 if form == CALLED else None
    told["right"] = float(np.mean(estimator.predict(rows) == y))
    told["predict"] = timed(partial(estimator.predict, rows))
    told["search"] = timed(partial(GridSearchCV(estimator, {"C": COSTS}, cv=FOLDS, refit=False).fit, rows, y))
    return {"seconds": fit + told["predict"] + told["search"], **told}


def example(job):
    """{example}: seconds of its second run."""
    code = compile(examples()[job["example"]], job["example"], "exec")

    def run():
        with chdir(ROOT), redirect_stdout(StringIO()):
            exec(code, {})

    run()
    return {"seconds": timed(run)}


JOBS = {"kernels": Kernels()}
