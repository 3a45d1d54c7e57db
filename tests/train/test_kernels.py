"""Solves that share kernel rows: LIBSVM's results, with any sharing, and no value computed twice if all fit."""

import numpy as np
import pytest
from support import data
from support.against_libsvm import compare_folds, compare_on, parameter
from support.oracle import Oracle
from support.policies import ALWAYS_SHARED, NEVER_SHARED, KernelPolicy
from train.test_selection import cloud, rows_of

import libsvmx
from libsvmx import DataError
from libsvmx._core.buffers import filled
from libsvmx._core.memory import MEGABYTE
from libsvmx._train.folds import Rand, group_classes
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.problem import Problem
from libsvmx._train.training import cross_validate_problem
from libsvmx.io.transcript import TrainingReport


def rows_and_targets(arguments, options):
    matrix, targets = data.load(*arguments)
    return data.precomputed(matrix) if "-t 4" in options else matrix, targets


# A value of the first row and one of the second, which decide whether 32-bit sums of 16-bit products suffice.
ENDS = {
    "integers": (3.0, 5.0),
    "the largest": (32767.0, -32767.0),
    "beyond 16 bits": (32768.0, -32768.0),
    "beyond 32 bits": (46341.0, 3.0),
    "a half": (0.5, 3.0),
}


@pytest.mark.parametrize("kernel", ["-t 0 -c 1e-7", "-t 1 -d 2 -g 1e-6 -r 1", "-t 2 -g 3e-4", "-t 3 -g 1e-6"])
@pytest.mark.parametrize("ends", ENDS)
def test_rows_of_integers(ends, kernel, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.integers(-20, 21, (150, 27)).astype(float)
    targets = np.where(X[:, 0] + 0.05 * X[:, 1] * X[:, 2] + rng.normal(size=150) > 0, 1.0, -1.0).tolist()
    X[0, 3], X[1, 4] = ENDS[ends]
    rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()]
    compare_on(data.from_rows(rows), targets, kernel, tmp_path)


class Counter(libsvmx.Observer):
    """Adds up the kernel values of all solves."""

    values = 0

    def solved(self, report):
        self.values += report.values_computed


# Whether small problems are solved at once and rows are shared: as measured, or forced.
POLICIES = {
    "as measured": KernelPolicy(),
    "never": NEVER_SHARED,
    "always": ALWAYS_SHARED,
    "in too little room": KernelPolicy(
        queue=False, small_bytes=-1, expensive_ns=0.0, required_share=0.0, memory_share=0.3
    ),
}


@pytest.fixture(params=POLICIES)
def policy(request):
    return POLICIES[request.param]


VALIDATIONS = [
    (("splice.xz", 400), "-c 5 -g 0.02", 4),
    (("splice.xz", 300), "-c 5 -g 0.02 -b 1", 3),
    (("splice.xz", 300), "-s 4 -c 5 -n 0.4 -g 0.02 -b 1", 3),
    (("vowel.scale.xz", 330), "-c 8 -g 1", 4),
    (("vowel.scale.xz", 330), "-c 8 -g 1 -w3 0.5 -w5 2", 3),
    (("glass.scale",), "-c 8 -g 0.5 -b 1", 3),
    (("a1a.xz", 300), "-c 5 -g 0.05", 4),
    (("text",), "-t 0", 5),
]


@pytest.mark.parametrize("megabytes", [0.01, 0.2, 100])
@pytest.mark.parametrize(("arguments", "options", "n_folds"), VALIDATIONS)
def test_cross_validation(arguments, options, n_folds, megabytes, policy):
    options += f" -m {megabytes}"
    compare_folds(*rows_and_targets(arguments, options), options, n_folds, policy=policy)


@pytest.mark.parametrize("options", ["-c 8 -g 1", "-c 100 -g 0.1 -m 0.05", "-s 1 -n 0.05", "-c 8 -b 1", "-w2 3 -c 9"])
@pytest.mark.parametrize("name", ["vowel.scale.xz", "glass.scale"])
def test_pairs_of_classes(name, options, policy, tmp_path):
    matrix, targets = data.load(name)
    compare_on(matrix, targets, options, tmp_path, policy=policy)


@pytest.mark.each_value
@pytest.mark.parametrize("options", ["-c 100", "-s 3 -c 100 -p 0.01", "-s 4 -c 50 -n 0.5", "-s 1 -n 0.4"])
def test_wide_rows(options, policy):
    """Expensive enough for blocks, with rows not yet requested."""
    X, labels, values = cloud(250, 600)
    matrix, targets = rows_of(X), list(values if options[:4] in ("-s 3", "-s 4") else labels)
    expected = Oracle(matrix, targets, options).cross_validate(4)
    found = libsvmx.cross_validate(matrix, targets, 4, parameter(options), policy=policy)
    assert list(found.predictions) == expected


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("splice.xz", 400), "-c 5 -g 0.02"),
        (("splice.xz", 400), "-s 3 -c 5 -g 0.02 -p 0.1"),
        (("splice.xz", 400), "-s 2 -n 0.5 -g 0.02"),
        (("vowel.scale.xz", 330), "-c 8 -g 1"),
        (("splice.xz", 400), "-c 5 -g 0.02 -b 1"),
    ],
)
def test_folds_compute_no_value_twice(arguments, options):
    X, y = rows_and_targets(arguments, options)
    n, counts = len(y), []
    for policy in (NEVER_SHARED, ALWAYS_SHARED):
        counter = Counter()
        libsvmx.cross_validate(X, y, 10, parameter(options), observer=counter, policy=policy)
        counts.append(counter.values)
    assert n * n / 50 < counts[1] <= n * n
    assert 2 * counts[1] < counts[0]


@pytest.mark.parametrize(("arguments", "n_folds"), [(("splice.xz", 300), 4), (("vowel.scale.xz", 220), 3)])
def test_several_costs_share_all_values(arguments, n_folds):
    matrix, targets = data.load(*arguments)
    problem, counter = Problem(matrix, filled("d", targets)), Counter()
    shared = parameter("-g 0.1", policy=ALWAYS_SHARED)
    of = KernelProvider(problem, shared, group_classes(problem.targets)[1:], repeated=True)
    for C in ("1", "30", "1"):
        before = counter.values
        options = f"-g 0.1 -c {C}"
        predicted = cross_validate_problem(problem, parameter(options), n_folds, Rand(1), counter, of)
        assert list(predicted) == Oracle(matrix, targets, options).cross_validate(n_folds)
    assert counter.values == before
    assert counter.values == of.shared.values_computed <= len(problem) ** 2


def test_pairs_compute_no_value_within_a_class_twice():
    """Three distant classes: all rows are support vectors, and each is in two pairs."""
    X, y = np.random.default_rng(0).normal(size=(120, 60)), np.arange(120) % 3
    counts = []
    for policy in (NEVER_SHARED, ALWAYS_SHARED):
        counter = Counter()
        libsvmx.train(X, y, C=5, gamma=1, shrinking=False, observer=counter, policy=policy)
        counts.append(counter.values)
    assert counts == [3 * 80 * 80, 120 * 120]


@pytest.mark.parametrize("megabytes", [0.001, 0.05, 0.7, 1, 5, 100])
@pytest.mark.parametrize("groups", [[0, 400], [0, 100, 400], [0, 100, 220, 400]])
@pytest.mark.parametrize("repeated", [True, False])
def test_memory(megabytes, groups, repeated):
    """Shared rows and those of a solve are together within the limit."""
    matrix, targets = data.load("splice.xz", 400)
    problem = Problem(matrix, filled("d", targets))
    param = parameter(f"-g 0.02 -m {megabytes}", policy=ALWAYS_SHARED)
    of = KernelProvider(problem, param, (groups, filled("i", range(400))), repeated)
    kernel, budget = of.of(problem)
    assert kernel.n == 400
    # all values take 0.62 MB, those within a class 0.22
    assert bool(of.shared) == ((megabytes >= 1 and repeated) or (megabytes >= 0.7 and len(groups) > 3))
    limit = megabytes * MEGABYTE
    if of.shared:
        assert budget + of.shared.most_bytes == limit
        assert budget >= 0.1 * limit
    else:
        assert budget == limit


def test_rows_that_are_never_shared():
    for arguments, options in ((("a1a.xz", 300), "-g 0.1"), (("heart_scale", 100), "-t 4")):
        matrix, targets = rows_and_targets(arguments, options)
        problem = Problem(matrix, filled("d", targets))
        of = KernelProvider(problem, parameter(options, policy=ALWAYS_SHARED), repeated=True)
        of.of(problem)
        assert of.shared is None


def test_folds_without_a_class_of_weight_0():
    """LIBSVM fails on them, so the results with and without sharing are compared."""
    X, y = data.load("vowel.scale.xz", 330)
    results = []
    for policy in (NEVER_SHARED, ALWAYS_SHARED):
        parts = []
        param, report = parameter("-c 8 -g 1 -w3 0 -w5 2"), TrainingReport(parts.append)
        found = libsvmx.cross_validate(X, y, 3, param, observer=report, policy=policy)
        results.append([*found.predictions, *parts])
    assert results[0] == results[1]


def test_one_class_needs_no_kernel():
    """Its values overflow."""
    X, y = [[1e200]] * 3, [1.0] * 3
    assert not len(libsvmx.train(X, y, gamma=1).coef)
    assert list(libsvmx.cross_validate(X, y, 2, gamma=1).predictions) == y


def test_an_overflow_is_found_in_a_fold():
    X = [[float(i + 1)] for i in range(12)] + [[1e200]]
    with pytest.raises(DataError, match="overflows"):
        libsvmx.cross_validate(X, [i % 2 for i in range(13)], 3, gamma=0.1)
