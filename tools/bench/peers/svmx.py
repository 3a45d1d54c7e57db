"""libsvmx; OMP_NUM_THREADS sets the number of threads."""

import hashlib
import tempfile
import time
from importlib import import_module
from pathlib import Path

from libsvmx import KernelType, Observer, predict, save_model, train
from tools.bench.datasets import csr_matrix, keywords
from tools.bench.measure import Unavailable
from tools.bench.peers import CONVERGED, FOUR_ROWS, FOUR_TARGETS, Outcome, solution_of

FLOAT_BYTES = 4  # of a kernel value in a row
CHOICES = ("smo", "irwls", "crsvm")  # of solver auto: solvers that need setting up


class Reports(Observer):
    """Records reports of each dual problem, of a kernel factor, and of crsvm's iterations."""

    def __init__(self):
        self.reports, self.more = [], {}

    def solved(self, report):
        self.reports.append(report)
        if "begun" in self.more:
            self.more["solve_seconds"] = time.process_time() - self.more["begun"]

    def iterated(self, line):
        self.more.setdefault("begun", time.process_time())
        self.more.setdefault("sizes", []).append(line.rows)

    def factorized(self, rank, trace_error, trace):
        self.more |= {"rank": rank, "trace_error": trace_error / trace, "factor_at": time.process_time()}


class Training:
    """Training(dataset, options, **settings): ``settings`` are further keywords of libsvmx.train, such as a solver."""

    def __init__(self, dataset, options, **settings):
        self.matrix, self.targets = csr_matrix(dataset), dataset.targets
        self.given = {**keywords(options, self.matrix.max_index), **settings}
        self.observer = Reports()
        # load what the solver needs before the clock starts, by training four rows: SciPy takes 0.2 s
        few = {"rank": 2} if "rank" in settings else {}
        needed = ({"solver": name} for name in CHOICES) if settings.get("solver") == "auto" else ({**settings, **few},)
        try:
            if settings.get("solver") in ("irwls", "auto"):  # irwls begins with LIBSVM's steps, which solve four rows
                import_module("libsvmx._solvers.decomposition.irwls")
            for one in needed:
                train(FOUR_ROWS, FOUR_TARGETS, kernel_type=KernelType.LINEAR, **one)
        except ImportError as error:
            raise Unavailable(f"{settings['solver']} cannot be loaded: {error}") from None

    def train(self):
        self.model = train(self.matrix, self.targets, observer=self.observer, **self.given)

    def predictor(self, dataset):
        """A function that predicts these rows with the model, once there is one."""
        tests = csr_matrix(dataset)
        return lambda: predict(self.model, tests)

    def outcome(self):
        model, reports = self.model, self.observer.reports
        statuses = {str(status) for status in model.statuses}
        return Outcome(
            solution_of(model),
            sum(r.iterations for r in reports),
            sum(r.objective for r in reports),
            list(model.rho),
            model_hash(model),
            counts(reports, len(self.targets)) | self.observer.more,
            ", ".join(sorted(statuses - {CONVERGED})) or CONVERGED,
        )


def model_hash(model):
    """Hash of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save_model(str(path), model)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def counts(reports, n):
    """Work of all dual problems together: kernel rows, values, working sets, and bytes of rows written and read.

    Each step reads rows i and j; with shrinking, fewer than the n values counted here.
    """
    found = {
        name: sum(getattr(r, name) for r in reports) for name in ("rows_computed", "values_computed", "subproblems")
    }
    found["own_gap"] = max((r.gap for r in reports), default=None)
    found["row_bytes_written"] = FLOAT_BYTES * found["values_computed"]
    if len(reports) == 1:
        found["row_bytes_read_at_most"] = 2 * FLOAT_BYTES * n * reports[0].iterations
    return found
