"""Refusals of libsvmx.svmutil, and their messages."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from libsvmx import svmutil
from libsvmx.exceptions import DataError, FormatError, ParameterError

Y6, X6 = [1, -1, 1, -1, 1, -1], [[1, 0.5], [2, 0], [0, 3], [4, 4], [1, 1], [0, 2]]


def test_c_functions_that_fail() -> None:
    lib, problem = svmutil.libsvm, svmutil.svm_problem(Y6, X6)
    assert b"C must be > 0" in (lib.svm_check_parameter(problem, svmutil.svm_parameter("-c 0")) or b"")
    assert lib.svm_check_parameter(problem, svmutil.svm_parameter("-g 1")) is None
    model = svmutil.svm_train(Y6, X6, "-q")
    row, _ = svmutil.gen_svm_nodearray(X6[0])
    with pytest.raises(ValueError, match="0 places, but there are 1"):
        lib.svm_predict_values(model, row, [])
    with pytest.raises(DataError, match="nan"):
        lib.svm_predict(model, [svmutil.svm_node(1, float("nan")), svmutil.svm_node()])
    labels, indices = [0, 0], [0] * model.l
    lib.svm_get_labels(model, labels)
    lib.svm_get_sv_indices(model, indices)
    assert labels == model.get_labels() == [1, -1]
    assert sorted(indices) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("y", "x", "options", "error", "message"),
    [
        ([], [], "", DataError, "no data"),
        (np.empty(0), np.empty((0, 3)), "", DataError, "no data"),
        ([], [], "-v 2", DataError, "no data"),
        ([1, 2], [{1: 1}], "", DataError, "2 labels, but x has 1 rows"),
        ([1], np.eye(2), "", DataError, "1 labels, but x has 2 rows"),
        ([1], sparse.eye(2), "", DataError, "1 labels, but x has 2 rows"),
        ([1, 2], [{1: 1}, {-1: 1}], "", DataError, "row 1: feature index -1"),
        ([1, 2], [{2**32 + 5: 1}, {1: 1}], "", DataError, "row 0: feature index 4294967301"),
        ([1, 2], [{1: 1}, {2**31: 1}], "", DataError, "row 1: feature index 2147483648"),
        ([1, 2], [{1: 1}, {2**70: 1}], "", DataError, "row 1: a feature index is outside"),
        ([1, 2], [{1: 1}, {1: 1, 4: float("nan")}], "", DataError, "row 1: the value of feature 4 is nan"),
        ([1, 2], [[1], [float("-inf")]], "", DataError, "row 1: the value of feature 1 is -inf"),
        ([1, 2], np.array([[0, np.nan], [1, 1]]), "", DataError, "row 0: the value of feature 2 is nan"),
        ([1, 2], sparse.csr_matrix([[0, 1], [np.inf, 1]]), "", DataError, "row 1: the value of feature 1 is inf"),
        ([1, 2], np.array([[1, 1, 2], [2, np.nan, 1]]), "-t 4", DataError, "row 1: the value of feature 1 is nan"),
        ([1, float("nan")], [[1], [2]], "", DataError, "row 1: class label nan"),
        ([1, 1.5], [[1], [2]], "", DataError, "row 1: class label 1.5"),
        ([1, float("inf")], [[1], [2]], "-s 3", DataError, "row 1: target inf"),
        ([1, 2], [[1, 1, 2], [3, 2, 1]], "-t 4", DataError, "row 1: precomputed kernel: serial number 3"),
        ([1, 2], [{1: 1}, {1: 2}], "-t 4", DataError, "row 0: precomputed kernel"),
        ([1, "b"], [[1], [2]], "", TypeError, "row 1: label 'b'"),
        ("ab", [[1], [2]], "", TypeError, "the first argument is a str"),
        ([1, 2], [[1], ["b"]], "", TypeError, "row 1: must be real number"),
        ([1, 2], [{1: 1}, {1.5: 1}], "", TypeError, "row 1:"),
        ([1, 2], [{1: 1}, 7], "", TypeError, "row 1: a row is a int"),
        ([1, 2], np.arange(2), "", TypeError, "row 0: a row is a"),
        ([1, 2], np.zeros((2, 1, 1)), "", TypeError, "3 dimensions"),
        ([1, 2], np.zeros((2, 1), complex), "", TypeError, "complex"),
        (np.ones((2, 1)), np.eye(2), "", TypeError, "2 dimensions"),
        ([1, 2], "ab", "", TypeError, "x is a str"),
        ([1, 2], None, "", TypeError, "x is a NoneType"),
        (Y6, X6, "-c", ParameterError, "option -c needs a value"),
        (Y6, X6, "-c x", ParameterError, "option -c: "),
        (Y6, X6, "-c nan", ParameterError, "C must be finite"),
        (Y6, X6, "-s 9", ParameterError, "option -s: 9"),
        (Y6, X6, "-z 9", ParameterError, "unknown option '-z'"),
        (Y6, X6, "-w 9", ParameterError, "option -w: "),
        (Y6, X6, "-h 2", ParameterError, "shrinking must be 0 or 1"),
        (Y6, X6, "-v 1", ParameterError, "at least 2 folds"),
        (Y6, X6, "-c -1", ParameterError, "C must be > 0"),
        (Y6, X6, ("-c", "1"), TypeError, "options are a tuple"),
    ],
)
def test_training_errors(y, x, options, error, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error) as caught:
        svmutil.svm_train(y, x, options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("y", "x", "options", "error", "message"),
    [
        ([], [], "", DataError, "no data"),
        ([1], X6, "", DataError, "1 labels, but x has 6 rows"),
        ([], [[1, float("nan")]], "", DataError, "row 0: the value of feature 2 is nan"),
        ([], [{1: 1}, {-3: 1}], "", DataError, "row 1: feature index -3"),
        ([], X6, "-b 1", ParameterError, "no probability estimates"),
        ([], X6, "-b", ParameterError, "option -b needs 0 or 1"),
        ([], X6, "-x", ParameterError, "unknown option '-x'"),
        (None, X6, "", TypeError, "y is a NoneType"),
        ([], {1: 1}, "", TypeError, "x is a dict"),
    ],
)
def test_prediction_errors(y, x, options, error, message) -> None:  # type: ignore[no-untyped-def]
    model = svmutil.svm_train(Y6, X6, "-q")
    with pytest.raises(error) as caught:
        svmutil.svm_predict(y, x, model, options)
    assert message in str(caught.value)


def test_other_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        svmutil.svm_load_model(str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        svmutil.svm_read_problem(str(tmp_path / "none"))
    model = svmutil.svm_train(Y6, X6, "-q")
    with pytest.raises(FileNotFoundError):
        svmutil.svm_save_model(tmp_path / "no folder" / "model", model)
    with pytest.raises(ValueError, match="None"):
        svmutil.svm_save_model(tmp_path / "model", None)
    svmutil.svm_save_model(tmp_path / "model", model)
    text = (tmp_path / "model").read_text()
    (tmp_path / "model").write_text("".join(line for line in text.splitlines(True) if "nr_sv" not in line))
    with pytest.raises(FormatError):
        svmutil.svm_load_model(os.fsencode(tmp_path / "model"))
    (tmp_path / "data").write_text("1 1:1\n-1 1:nan\n")
    with pytest.raises(FormatError, match=r"data:2:"):
        svmutil.svm_read_problem(tmp_path / "data")
    with pytest.raises(FormatError, match=r":2:"), open(tmp_path / "data", "rb") as file:
        svmutil.svm_read_problem(file)
    with pytest.raises(ValueError, match="2 true values, but 1"):
        svmutil.evaluations([1, 2], [1])
    for broken in (np.eye(2), sparse.coo_matrix(np.eye(2))):
        with pytest.raises(TypeError, match="CSR"):
            svmutil.csr_find_scale_param(broken)
    with pytest.raises(DataError, match="row 1"):
        svmutil.csr_find_scale_param(sparse.csr_matrix([[1, 2], [np.nan, 0]]))
    with pytest.raises(ValueError, match="lower"):
        svmutil.csr_find_scale_param(sparse.csr_matrix(np.eye(2)), 1, 1)
    param = svmutil.svm_parameter()
    param.nr_weight = 1
    with pytest.raises(ParameterError, match="nr_weight"):
        svmutil.svm_train(svmutil.svm_problem(Y6, X6), param)
