"""libsvmx; the number of threads comes from OMP_NUM_THREADS."""

from __future__ import annotations

import hashlib

import numpy as np

from libsvmx._core.rand import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx.io.modelfile import model_text
from tools.bench.datasets import csr_matrix, parameter
from tools.bench.peers import Outcome, Solution

FLOAT_BYTES = 4  # of a kernel value in a row


class Reports(Observer):
    """Keeps what the solver says of each dual problem."""

    def __init__(self):
        self.reports = []

    def solved(self, report):
        self.reports.append(report)


class Training:
    def __init__(self, dataset, options):
        matrix = csr_matrix(dataset)
        self.param = parameter(options, matrix.max_index)
        self.problem = Problem(matrix, np.ascontiguousarray(dataset.targets).data)
        self.observer = Reports()

    def train(self):
        self.model = train_problem(self.problem, self.param, Rand(1), self.observer)

    def outcome(self):
        model, reports = self.model, self.observer.reports
        classify = model.class_sv is not None
        return Outcome(
            Solution(
                np.asarray(model.sv_indices) - 1,
                np.asarray(model.sv_coef),
                model.labels if classify else None,
                np.array(model.class_sv) if classify else None,
            ),
            sum(r.iterations for r in reports),
            sum(r.objective for r in reports),
            list(model.rho),
            hashlib.sha256(model_text(model)).hexdigest(),
            counts(reports, len(self.problem)),
            "" if set(model.statuses) <= {"converged"} else ", ".join(sorted(set(model.statuses))),
        )


def counts(reports, n):
    """Work of all dual problems together: kernel rows, values, and bytes of rows written and read.

    Where the solver tells no number of values, a single problem counts whole rows of n values and several
    problems count none. Each step reads rows i and j; with the active set shrunk less than the n values counted here.
    """
    found = {"rows_computed": sum(r.rows_computed for r in reports)}
    if all(hasattr(r, "values_computed") for r in reports):
        found["values_computed"] = sum(r.values_computed for r in reports)
    elif len(reports) == 1:
        found["values_computed"] = found["rows_computed"] * n
    if all(hasattr(r, "rows_touched") for r in reports):
        found["rows_touched"] = sum(r.rows_touched for r in reports)
    if "values_computed" in found:
        found["row_bytes_written"] = FLOAT_BYTES * found["values_computed"]
    if len(reports) == 1:
        found["row_bytes_read_at_most"] = 2 * FLOAT_BYTES * n * reports[0].iterations
    return found
