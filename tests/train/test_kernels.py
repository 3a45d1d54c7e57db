"""Solves that share kernel rows: LIBSVM's results, whatever is shared, and no value computed twice where all fit."""

import numpy as np
import pytest
from support import data
from support.oracle import Oracle
from train.test_against_libsvm import compare_on, parameter
from train.test_selection import cloud, rows_of

from libsvmx._core.buffers import filled
from libsvmx._core.memory import MEGABYTE
from libsvmx._core.rand import Rand
from libsvmx._kernels import sharedrows
from libsvmx._train import kernel_provider
from libsvmx._train.folds import group_classes
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.training import cross_validate_problem, default_gamma, train_problem
from libsvmx.exceptions import DataError
from libsvmx.io.transcript import TrainingReport


def problem_of(arguments, options):
    matrix, targets = data.load(*arguments)
    if "-t 4" in options:
        matrix = data.precomputed(matrix)
    return matrix, targets, default_gamma(parameter(options), matrix.max_index)


class Counter(Observer):
    """Adds up the kernel values of all solves."""

    values = 0

    def solved(self, report):
        self.values += report.values_computed


@pytest.fixture(params=["as measured", "never", "always", "in too little room"])
def policy(request, monkeypatch):
    """Whether small problems are solved at once, or rows are shared: as this machine has it, or not."""
    if request.param != "as measured":
        monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
        monkeypatch.setattr(kernel_provider, "SMALL_BYTES", -1)
        monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", 1e9 if request.param == "never" else 0.0)
    if request.param == "in too little room":
        monkeypatch.setattr(sharedrows, "all_bytes", lambda starts, across=True: 0)
        monkeypatch.setattr(kernel_provider, "SHARED", 0.3)
    return request.param


VALIDATIONS = [
    (("splice.xz", 400), "-c 5 -g 0.02", 4),
    (("splice.xz", 300), "-c 5 -g 0.02 -b 1", 3),
    (("splice.xz", 300), "-s 1 -n 0.3 -g 0.02", 3),
    (("splice.xz", 300), "-s 2 -n 0.3 -g 0.02", 3),
    (("splice.xz", 300), "-s 3 -c 5 -p 0.1 -g 0.02", 3),
    (("splice.xz", 300), "-s 4 -c 5 -n 0.4 -g 0.02 -b 1", 3),
    (("splice.xz", 300), "-t 1 -c 5 -g 0.02 -h 0", 3),
    (("vowel.scale.xz", 330), "-c 8 -g 1", 4),
    (("vowel.scale.xz", 330), "-c 8 -g 1 -w3 0.5 -w5 2", 3),
    (("glass.scale",), "-s 1 -n 0.05 -t 3 -g 0.1", 3),
    (("glass.scale",), "-c 8 -g 0.5 -b 1", 3),
    (("a1a.xz", 300), "-c 5 -g 0.05", 4),
    (("text",), "-t 0", 5),
    (("heart_scale", 40), "-c 2", 40),
    (("heart_scale", 150), "-t 4 -c 0.1", 4),
]


@pytest.mark.parametrize("megabytes", [0.01, 0.2, 100])
@pytest.mark.parametrize(("arguments", "options", "n_folds"), VALIDATIONS)
def test_cross_validation(arguments, options, n_folds, megabytes, policy):
    options += f" -m {megabytes}"
    matrix, targets, param = problem_of(arguments, options)
    oracle = Oracle(matrix, targets, options)
    expected = oracle.cross_validate(n_folds)
    parts = []
    problem = Problem(matrix, filled("d", targets))
    predicted = cross_validate_problem(problem, param, n_folds, Rand(1), TrainingReport(parts.append))
    assert list(predicted) == expected
    assert "".join(parts) == oracle.transcript


@pytest.mark.parametrize("options", ["-c 8 -g 1", "-c 100 -g 0.1 -m 0.05", "-s 1 -n 0.05", "-c 8 -b 1", "-w2 3 -c 9"])
@pytest.mark.parametrize("name", ["vowel.scale.xz", "glass.scale"])
def test_pairs_of_classes(name, options, policy, tmp_path):
    matrix, targets = data.load(name)
    compare_on(matrix, targets, options, tmp_path)


@pytest.mark.parametrize("options", ["-c 100", "-s 3 -c 100 -p 0.01", "-s 4 -c 50 -n 0.5", "-s 1 -n 0.4"])
def test_wide_rows(options, policy):
    """Dear enough for blocks, with rows that were not asked for yet."""
    X, labels, values = cloud(250, 600)
    matrix, targets = rows_of(X), list(values if options[:4] in ("-s 3", "-s 4") else labels)
    oracle = Oracle(matrix, targets, options)
    expected = oracle.cross_validate(4)
    param = default_gamma(parameter(options), matrix.max_index)
    problem = Problem(matrix, filled("d", targets))
    assert list(cross_validate_problem(problem, param, 4, Rand(1), Observer())) == expected


def always(monkeypatch):
    monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
    monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", 0.0)


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
def test_folds_compute_no_value_twice(arguments, options, monkeypatch):
    matrix, targets, param = problem_of(arguments, options)
    problem = Problem(matrix, filled("d", targets))
    counts = []
    for expensive in (1e9, 0.0):
        monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
        monkeypatch.setattr(kernel_provider, "SMALL_BYTES", -1)
        monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", expensive)
        counter = Counter()
        cross_validate_problem(problem, param, 10, Rand(1), counter)
        counts.append(counter.values)
    n = len(problem)
    assert n * n / 50 < counts[1] <= n * n
    assert 2 * counts[1] < counts[0]


@pytest.mark.parametrize(("arguments", "n_folds"), [(("splice.xz", 300), 4), (("vowel.scale.xz", 220), 3)])
def test_several_costs_share_all_values(arguments, n_folds, monkeypatch):
    always(monkeypatch)
    matrix, targets, param = problem_of(arguments, "-g 0.1")
    problem, counter = Problem(matrix, filled("d", targets)), Counter()
    of = KernelProvider(problem, param, group_classes(problem.targets)[1:], repeated=True)
    for C in ("1", "30", "1"):
        before = counter.values
        options = f"-g 0.1 -c {C}"
        predicted = cross_validate_problem(problem, parameter(options), n_folds, Rand(1), counter, of)
        assert list(predicted) == Oracle(matrix, targets, options).cross_validate(n_folds)
    assert counter.values == before
    assert counter.values == of.shared.values_computed <= len(problem) ** 2


def test_pairs_compute_no_value_within_a_class_twice(monkeypatch):
    """Three far classes: all rows are support vectors, and each is in two pairs."""
    X = np.random.default_rng(0).normal(size=(120, 60))
    problem = Problem(rows_of(X), filled("d", [i % 3 for i in range(120)]))
    param = default_gamma(parameter("-c 5 -g 1 -h 0"), 60)
    counts = []
    for expensive in (1e9, 0.0):
        monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
        monkeypatch.setattr(kernel_provider, "SMALL_BYTES", -1)
        monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", expensive)
        counter = Counter()
        train_problem(problem, param, Rand(1), counter)
        counts.append(counter.values)
    assert counts == [3 * 80 * 80, 120 * 120]


@pytest.mark.parametrize("megabytes", [0.001, 0.05, 0.7, 1, 5, 100])
@pytest.mark.parametrize("groups", [[0, 400], [0, 100, 400], [0, 100, 220, 400]])
@pytest.mark.parametrize("repeated", [True, False])
def test_memory(megabytes, groups, repeated, monkeypatch):
    """Shared rows and those of a solve are within the limit together."""
    always(monkeypatch)
    matrix, targets, param = problem_of(("splice.xz", 400), f"-m {megabytes}")
    problem = Problem(matrix, filled("d", targets))
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


def test_what_is_never_shared(monkeypatch):
    always(monkeypatch)
    for arguments, options in ((("a1a.xz", 300), ""), (("heart_scale", 100), "-t 4")):
        matrix, targets, param = problem_of(arguments, options)
        problem = Problem(matrix, filled("d", targets))
        of = KernelProvider(problem, param, repeated=True)
        of.of(problem)
        assert of.shared is None


def test_folds_without_a_class_of_weight_0(monkeypatch):
    """LIBSVM fails on them, so the results with and without sharing are compared."""
    matrix, targets, param = problem_of(("vowel.scale.xz", 330), "-c 8 -g 1 -w3 0 -w5 2")
    monkeypatch.setattr(kernel_provider, "SMALL_BYTES", -1)
    results = []
    for expensive in (1e9, 0.0):
        monkeypatch.setattr(kernel_provider, "EXPENSIVE_NS", expensive)
        parts = []
        problem = Problem(matrix, filled("d", targets))
        results.append([*cross_validate_problem(problem, param, 3, Rand(1), TrainingReport(parts.append)), *parts])
    assert results[0] == results[1]


def test_one_class_needs_no_kernel():
    """Its values overflow."""
    problem = Problem(data.from_rows([[(1, 1e200)]] * 3), filled("d", [1.0] * 3))
    assert not len(train_problem(problem, parameter("-g 1"), Rand(1), Observer()).coef)
    assert list(cross_validate_problem(problem, parameter("-g 1"), 2, Rand(1), Observer())) == [1.0] * 3


def test_an_overflow_is_found_in_a_fold():
    rows = [[(1, float(i + 1))] for i in range(12)] + [[(1, 1e200)]]
    problem = Problem(data.from_rows(rows), filled("d", [i % 2 for i in range(13)]))
    with pytest.raises(DataError, match="overflows"):
        cross_validate_problem(problem, parameter("-g 0.1"), 3, Rand(1), Observer())
