"""svmx-train and svmx-predict over files: LIBSVM's output and files, and the results of the functions over arrays."""

import re

import numpy as np
import pytest
from support import oracle
from support.oracle import Oracle

import libsvmx

from .table import IN_LIBSVM, LIBSVMS, Case, each
from .test_cross_validation import SEEDINGS
from .test_training import file_of

OPTIONS_OF = {
    "smo": [],
    "auto": ["--solver", "auto"],
    "chunked": ["--solver", "chunked", "--working-set", "16"],
    "irwls": ["--solver", "irwls", "--working-set", "16"],
    "crsvm": ["--solver", "crsvm"],
    "crsvm, low rank": ["--solver", "crsvm", "--rank", "25"],
}


def written(folder, name, case, rows=None, trained=None):
    """Rows as a data file whose numbers are read back exactly."""
    matrix = case.matrix(rows, trained)
    lines = [
        " ".join([repr(float(y)), *(f"{index}:{value!r}" for index, value in matrix.row(i))])
        for i, y in enumerate(case.y(rows))
    ]
    return folder.put(name, "\n".join([*lines, ""]))


def words(case):
    """The options of a case for the commands."""
    return [*case.libsvm_options().split(), *OPTIONS_OF[case.names[0]]]


PLURAL = {
    "accuracy": "accuracies",
    "mean_squared_error": "mean_squared_errors",
    "squared_correlation": "squared_correlations",
    "pinball_loss": "pinball_losses",
}


def figures_of(case):
    """The fields of a validation that are printed, in order."""
    if not case.svm_type.is_regression:
        return ["accuracy"]
    more = ["pinball_loss"] if "tau" in case.options else []
    return ["mean_squared_error", "squared_correlation", *more]


@each("train", solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS, probability=[False, True])
def test_train_prints_and_writes_the_same_as_libsvm(solver, task, kernel, probability, folder):
    case = Case(solver, task, kernel, probability=probability)
    theirs = Oracle(case.matrix(), case.y(), case.libsvm_options()).train()
    err, out = folder.accepts("svmx-train", *words(case), written(folder, "rows", case), "model")
    assert (out, err) == (theirs.transcript, "")
    assert folder.get("model") == theirs.model_bytes(folder.path)


@each("train")
def test_train_writes_the_model_of_the_function(solver, task, kernel, folder, tmp_path):
    case = Case(solver, task, kernel)
    folder.accepts("svmx-train", "-q", *words(case), written(folder, "rows", case), "model")
    assert folder.get("model") == file_of(case.train(), tmp_path)


@each("train", solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS, probability=[False, True])
def test_predict_writes_libsvms_predictions(solver, task, kernel, probability, folder):
    case = Case(solver, task, kernel, probability=probability)
    libsvmx.save_model(folder.path / "model", case.train())
    asked = ["-b", "1"] if probability and not case.svm_type.is_regression else []
    folder.accepts("svmx-predict", *asked, written(folder, "tests", case, case.new, case.rows), "model", "out")
    lines = folder.get("out").decode().splitlines()
    model, tests = oracle.load(folder.path / "model"), case.matrix(case.new, case.rows)
    if asked:
        labels, _ = oracle.predict_probability(model, tests)
        assert lines.pop(0).startswith("label")
    else:
        labels, _ = oracle.predict(model, tests)
    digits = 7 if case.svm_type.is_regression else 12
    found = [float(line.split()[0]) for line in lines]
    np.testing.assert_allclose(found, labels, rtol=10.0**-digits)


@each("cross_validate", strength=1)
def test_cross_validation_prints_the_figures_of_the_function(solver, task, kernel, folder):
    case = Case(solver, task, kernel)
    _, out = folder.accepts("svmx-train", "-q", "-v", 4, *words(case), written(folder, "rows", case))
    found = libsvmx.cross_validate(case.X(), case.y(), 4, **case.options)
    expected = [getattr(found, name) for name in figures_of(case)]
    printed = [float(line.split()[-1].rstrip("%")) for line in out.splitlines() if line.startswith("Cross")]
    np.testing.assert_allclose(printed, expected, rtol=1e-5)


@each("cross_validate", strength=1)
def test_repeats_print_the_figures_of_the_function(solver, task, kernel, folder):
    case = Case(solver, task, kernel)
    rows = written(folder, "rows", case)
    _, out = folder.accepts("svmx-train", "-q", "-v", 4, "--repeats", 3, *words(case), rows)
    found = libsvmx.cross_validate(case.X(), case.y(), 4, repeats=3, **case.options)
    expected = [getattr(found, PLURAL[name]) for name in figures_of(case)]
    lines = [[float(number) for number in re.findall(r"= (-?[\d.e-]+)", line)] for line in out.splitlines()]
    np.testing.assert_allclose(lines[:3], np.transpose(expected), rtol=1e-5)
    printed = [[float(word.rstrip("%")) for word in line.split()[-5:-2:2]] for line in out.splitlines()[3:]]
    np.testing.assert_allclose(printed, [[own.mean(), own.std(ddof=1)] for own in expected], rtol=1e-5)
    _, once = folder.accepts("svmx-train", "-q", "-v", 4, "--repeats", 1, *words(case), rows)
    assert once == folder.accepts("svmx-train", "-q", "-v", 4, *words(case), rows)[1]
    assert once.split("=")[1].split()[0] == out.split("=")[1].split()[0].rstrip(",")


@each("seeded", strength=1, solver=["smo", "irwls"], seeding=SEEDINGS)
def test_seeded_cross_validation_prints_the_same(solver, task, kernel, seeding, folder):
    case = Case(solver, task, kernel)
    seeder, scheme = seeding
    asked = ["--seeder", seeder, "--seeder-scheme", scheme]
    _, out = folder.accepts("svmx-train", "-q", "-v", 4, *asked, *words(case), written(folder, "rows", case))
    found = libsvmx.cross_validate(case.X(), case.y(), 4, seeder=seeder, scheme=scheme, **case.options)
    expected = found.mean_squared_error if case.svm_type.is_regression else found.accuracy
    first = next(line for line in out.splitlines() if line.startswith("Cross"))
    assert float(first.split()[-1].rstrip("%")) == pytest.approx(expected, rel=1e-5)


@each("leave_one_out", strength=1, solver=["smo", "irwls"])
def test_leave_one_out_prints_the_figures_of_the_function(solver, task, kernel, folder):
    case = Case(solver, task, kernel)
    _, out = folder.accepts("svmx-train", "-q", "--loo", *words(case), written(folder, "rows", case))
    found = libsvmx.leave_one_out(case.X(), case.y(), values=False, **case.options)
    expected = found.mean_squared_error if case.svm_type.is_regression else found.accuracy
    printed = [float(line.split()[-1].rstrip("%")) for line in out.splitlines() if "=" in line]
    assert printed[0] == pytest.approx(expected, rel=1e-5)
