"""libsvmx.svmutil beside LIBSVM's own Python module: the same script prints the same with both."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from support.modules import run, same_output

from libsvmx import svmutil

pytest.importorskip("libsvm.svmutil", reason="the oracle, libsvm-official, is not installed")


def test_forms_of_input(tmp_path: Path) -> None:
    script = """
stored = sparse.csr_matrix(X)
stored.data[::5] = 0
for rows in (
    X.tolist(), [tuple(row) for row in X], tuple(X.tolist()), list(X),
    [dict(enumerate(row, 1)) for row in X.tolist()], [dict(reversed(list(enumerate(row, 0)))) for row in X.tolist()],
    [(row.nonzero()[0], row[row.nonzero()]) for row in X],
    X, np.asfortranarray(X), X.astype(np.float32), X.astype(int), X[:, ::-1],
    sparse.csr_matrix(X), sparse.coo_matrix(X), sparse.csc_matrix(X), sparse.csr_matrix(X.astype(int)), stored,
):
    for labels in (Y, Y.tolist(), tuple(Y.tolist()), Y.astype(float)):
        model = svm_train(labels, rows, "-c 2")
        print(svm_predict(labels, rows, model))
    print(type(rows))
    show(model)
print(svm_predict([], X, model), svm_predict((), X, model, "-q"))
"""
    assert same_output(script, tmp_path).count("Accuracy") == 17 * 4 + 1


@pytest.mark.parametrize(
    "options",
    [
        "-s 0 -c 10 -t 0", "-s 0 -t 1 -r 1 -d 2", "-s 0 -w1 3 -w-1 0.5", "-b 1", "-s 1 -n 0.3", "-s 1 -b 1 -h 0",
        "-s 2 -n 0.2", "-s 2 -b 1", "-s 3 -p 0.2", "-s 3 -b 1 -t 3 -g 0.01", "-s 4 -c 5 -m 1 -e 0.01",
    ],
)  # fmt: skip
def test_formulations(options: str, tmp_path: Path) -> None:
    script = f"""
y, x = svm_read_problem(HEART)
model = svm_train(y, x, {options!r})
show(model)
print(svm_predict(y, x, model))
print(svm_predict(y[:20], x[:20], model, "-q"))
if model.is_probability_model():
    print(svm_predict(y, x, model, "-b 1"))
    print(svm_predict(y, x, model, "-b 1 -q"))
"""
    output = same_output(script, tmp_path)
    assert "optimization finished" in output
    assert ("disabled" in output) == ("-b 1" in options)


def test_several_classes_and_one(tmp_path: Path) -> None:
    script = """
for options in ("-c 3", "-t 1 -b 1", "-s 1 -n 0.2 -b 1"):
    model = svm_train(Y4, X, options)
    show(model)
    print(svm_predict(Y4, X, model, "-b 1" if model.is_probability_model() else ""))
one = svm_train([0] * 60, X, "-q")
print(svm_predict(Y4, X, one), one.get_labels(), one.nr_class, one.l, one.get_SV())
"""
    last = same_output(script, tmp_path).splitlines()[-2]
    assert "Accuracy = 0%" not in last
    assert last.endswith("/60) (classification)")


def test_rand_stream_runs_on_from_call_to_call(tmp_path: Path) -> None:
    script = """
y, x = svm_read_problem(HEART)
for options in ("-v 5", "-v 5 -q", ["-v", 3, "-q", "-c", 4], "-s 3 -v 4 -q", "-s 2 -v 7 -q"):
    print(svm_train(y, x, options))
print(svm_train(Y, X, "-v 60 -q -t 0"), svm_train(Y, X, "-v 60 -q"))
model = svm_train(y, x, "-b 1 -q")
print(svm_predict(y, x, model, "-b 1"))
svm_train(y, x, "-q")
print(svm_train(Y4, X, "-v 3 -b 1 -q"), svm_train(y, x, "-v 5 -q"))
print(svm_predict(T, X, svm_train(T, X, "-s 4 -b 1 -q"), "-b 1"), svm_train(T, X, "-s 4 -v 10"))
"""
    output = same_output(script, tmp_path)
    lines = [line for line in output.splitlines() if line.startswith("Cross Validation Accuracy")]
    assert len(lines) == 8
    assert lines[0] != lines[-1], "the folds of the first and the last call should differ"


def test_precomputed_kernels(tmp_path: Path) -> None:
    script = """
K = X @ X.T + 100.0
assert K.all()
rows = np.column_stack((np.arange(1, 61), K))
dicts = [dict(enumerate(row)) for row in rows.tolist()]
for x in (rows.tolist(), dicts, rows, sparse.csr_matrix(rows), sparse.coo_matrix(rows)):
    model = svm_train(Y, x, "-t 4 -c 0.01")
    show(model)
    print(svm_predict(Y, x, model), svm_train(Y, x, "-t 4 -v 4 -q"))
problem = svm_problem(Y, rows.tolist(), isKernel=True)
print(problem.l, problem.n, problem.x[3][0].index, problem.x[3][0].value, problem.x[3][60].value)
print(svm_predict(Y, rows, svm_train(problem, "-t 4 -c 0.01")))
"""
    assert same_output(script, tmp_path).count("kernel_type precomputed") == 5


def test_zeros_of_a_sparse_kernel_matrix_are_values() -> None:
    # LIBSVM reads kernel values by position, so values missing from a sparse matrix shift the rest
    rng = np.random.default_rng(5)
    x = rng.integers(-1, 2, size=(30, 4)).astype(float)
    y = np.where(x[:, 0] + x[:, 1] > 0, 1, -1)
    kernel = x @ x.T
    assert (kernel == 0).any()
    rows = np.column_stack((np.arange(1, 31), kernel))
    dense = svmutil.svm_train(y, rows, "-t 4 -q")
    thin = svmutil.svm_train(y, sparse.csr_array(rows), "-t 4 -q")
    direct = svmutil.svm_train(y, x, "-t 0 -q")
    assert thin.rho == dense.rho == direct.rho
    assert thin.sv_coef == dense.sv_coef == direct.sv_coef
    values = svmutil.svm_predict(y, rows, dense, "-q")
    assert svmutil.svm_predict(y, sparse.csr_matrix(rows), thin, "-q") == values
    assert values == svmutil.svm_predict(y, x, direct, "-q")


def test_problem_parameter_and_nodes(tmp_path: Path) -> None:
    script = """
problem = svm_problem(Y, [dict(enumerate(row, 3)) for row in X.tolist()])
print(problem.l, problem.n, problem.y[:5], [(n.index, n.value) for n in problem.x[0][:3]], str(problem.x[1][0]))
for x in (X, sparse.csr_matrix(X), sparse.csr_matrix(np.column_stack((X, 0 * X)))):
    problem = svm_problem(Y, x)
    param = svm_parameter("-c 3 -w1 2 -w-1 4 -v 3 -h 0 -b 1")
    print(problem.l, problem.n, param.gamma, param.nr_weight, param.weight_label[:2], param.weight[:2])
    print([line for line in str(param).splitlines() if "weight:" not in line and "label" not in line][:-1])
    param.cross_validation, param.probability, param.C = False, 0, 8
    model = svm_train(problem, param)
    print(param.gamma, type(param.gamma), param.C, param.svm_type == svm_forms.C_SVC, param.kernel_type)
    show(model)
    for factor in (0.01, 0.1):
        param.weight[0] = factor
        show(svm_train(problem, param))
    show(svm_train(problem, "-t 0"))
    show(svm_train(problem))
    print(svm_train(problem, "-v 3 -q"))
heard = []
param = svm_parameter()
param.print_func = PRINT_STRING_FUN(heard.append)
svm_train(problem, param)
print(b"".join(heard))
for xi in ({3: 1.5, 1: 2, 2: 0}, [0, 5, 0, 7], (1, 0, 2), np.array([0.0, 1.0, 4.0])):
    for feature_max in (None, 2):
        for kernel in (False, True):
            nodes, largest = gen_svm_nodearray(xi, feature_max, kernel)
            print([(node.index, node.value) for node in nodes], [str(node) for node in nodes[:-1]], largest)
print(gen_svm_nodearray([0, 0])[1], list(svm_forms), list(kernel_names), print_null("x"), c_double(2).value)
print(str(svm_node(4, 2.5)), svm_node().index)
"""
    assert "optimization finished, #iter" in same_output(script, tmp_path)


def test_common_functions(tmp_path: Path) -> None:
    script = """
y, x = svm_read_problem(HEART)
print(type(y), type(x), y, x)
y, x = svm_read_problem(open(HEART))
print(type(y), type(x), y, x)
with open("zero", "w") as file:
    file.write("1 0:1 2:0 3:4\\n-1 0:2\\n2.5 0:1 1:1\\n")
with open("one", "w") as file:
    file.write("1 2:0 3:4\\n-1\\n2.5 1:1 7:0\\n")
for name in (HEART, "zero", "one"):
    print(svm_read_problem(name))
    y, x = svm_read_problem(name, return_scipy=True)
    print(type(y), y.dtype, y.tolist(), type(x), x.shape, x.nnz, x.toarray().tolist())
for ty, pv in (([1, -1, 1], [1.0, 1.0, 1.0]), ([1, 2, 3.5], (1.5, 2, 4)), ([3], [3]), (T, T**2)):
    for ours in (True, False):
        print(evaluations(ty, pv, ours), evaluations(np.array(ty), np.array(pv)))
x = sparse.csr_matrix(np.column_stack((X, X[:, 0] * 0.3 + 1)))
for bounds in ((), (0, 1), (-2.5, 0.7)):
    scaling = csr_find_scale_param(x, *bounds)
    scaled = csr_scale(x, scaling)
    print(scaling["coef"].tolist(), scaling["offset"].tolist(), type(scaled), scaled.toarray().tolist())
"""
    assert "270" in same_output(script, tmp_path)


def test_c_functions(tmp_path: Path) -> None:
    script = """
rows = X.tolist()
problem, param = svm_problem(Y4, rows), svm_parameter("-g 0.3 -b 1")
print(libsvm.svm_check_parameter(problem, param))
m = toPyModel(libsvm.svm_train(problem, param))
row, _ = gen_svm_nodearray(rows[3])
values, probabilities, labels, indices = (c_double * 6)(), (c_double * 4)(), [0] * 4, [0] * m.l
print(libsvm.svm_predict(m, row), libsvm.svm_predict_values(m, row, values), list(values))
print(libsvm.svm_predict_probability(m, row, probabilities), list(probabilities))
target = (c_double * 60)()
libsvm.svm_cross_validation(problem, param, 3, target)
print(list(target))
print(libsvm.svm_save_model(b"low", m), open("low").read())
again = toPyModel(libsvm.svm_load_model(b"low"))
print(libsvm.svm_get_svm_type(again), libsvm.svm_get_nr_class(again), libsvm.svm_get_nr_sv(again))
print(libsvm.svm_check_probability_model(again), libsvm.svm_predict(again, row))
heard = []
listen = PRINT_STRING_FUN(heard.append)
libsvm.svm_set_print_string_function(listen)
libsvm.svm_train(problem, param)
print(b"".join(heard))
libsvm.svm_set_print_string_function(PRINT_STRING_FUN())
print(libsvm.svm_get_svr_probability(toPyModel(libsvm.svm_train(svm_problem(T, X), svm_parameter("-s 3 -b 1 -g 1")))))
kernel = np.column_stack((np.arange(1, 61), X @ X.T)).tolist()
m = svm_train(Y, kernel, "-t 4 -c 0.01 -q")
print([libsvm.svm_predict_values(m, gen_svm_nodearray(row, isKernel=True)[0], values) + values[0] for row in kernel])
"""
    assert "optimization finished" in same_output(script, tmp_path)


def test_model_files_go_both_ways(tmp_path: Path) -> None:
    train = """
y, x = svm_read_problem(HEART)
for number, options in enumerate(("-c 5", "-s 2 -b 1", "-s 3 -b 1 -t 1", "-b 1 -t 3", "-s 4 -t 0")):
    svm_save_model(f"{number}.model", svm_train(y, x, options + " -q"))
svm_save_model("5.model", svm_train(Y4, X, "-b 1 -q"))
"""
    for module in ("libsvm", "libsvmx"):
        run(module, train, tmp_path / module)
    read = """
for number in range(6):
    model = svm_load_model(f"{number}.model")
    y, x = svm_read_problem(HEART) if number < 5 else (Y4.tolist(), X)
    print(svm_predict(y, x, model), svm_predict(y, x, model, "-b 1") if model.is_probability_model() else "")
    print(model.free_sv, model.get_sv_indices(), model.get_labels(), bool(model.sv_indices))
    print(contents(model, f"{number}.again"))
"""
    modules = ("libsvm", "libsvmx")
    outputs = {run(reader, read, tmp_path / writer) for writer in modules for reader in modules}
    assert len(outputs) == 1
    for number in range(6):
        expected = (tmp_path / "libsvm" / f"{number}.model").read_bytes()
        assert (tmp_path / "libsvmx" / f"{number}.model").read_bytes() == expected
        assert (tmp_path / "libsvmx" / f"{number}.again").read_bytes() == expected


Y6, X6 = [1, -1, 1, -1, 1, -1], [[1, 0.5], [2, 0], [0, 3], [4, 4], [1, 1], [0, 2]]


@pytest.mark.parametrize("sparse_form", ["csr_array", "coo_array", "csc_array", "lil_matrix", "dok_array"])
def test_any_sparse_format(sparse_form: str) -> None:
    x = getattr(sparse, sparse_form)(np.array(X6))
    assert svmutil.svm_train(Y6, x, "-q").rho == svmutil.svm_train(Y6, X6, "-q").rho
    model = svmutil.svm_train(Y6, X6, "-q")
    assert svmutil.svm_predict(Y6, x, model, "-q") == svmutil.svm_predict(Y6, X6, model, "-q")


def test_duplicates_are_added_up_and_the_callers_matrix_stays() -> None:
    parts = ([1.0, 1.0, 3.0, 2.0], ([1, 1, 0, 0], [1, 1, 1, 0]))
    coo = sparse.coo_matrix(parts, shape=(2, 2))
    csr = sparse.csr_matrix(([3.0, 2.0, 1.0, 1.0], [1, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    for x in (coo, csr):
        problem = svmutil.svm_problem([1, 2], x)
        assert problem.matrix.row(0) == [(1, 2.0), (2, 3.0)]
        assert problem.matrix.row(1) == [(2, 2.0)]
    assert csr.indices.tolist() == [1, 0, 1, 1]
    assert csr.data.tolist() == [3, 2, 1, 1]


def test_a_pair_of_arrays_need_not_be_sorted() -> None:
    # LIBSVM also sorts the entries, but takes the last one given for the largest index
    rows = [(np.array([3, 0]), np.array([2.0, 1.0])), (np.array([1]), np.array([5.0]))]
    problem = svmutil.svm_problem([1, 2], rows)
    assert problem.matrix.row(0) == [(1, 1.0), (4, 2.0)]
    assert problem.n == 4


@pytest.mark.parametrize("make", [list, np.array, sparse.csr_matrix, lambda x: sparse.csr_array(np.array(x))])
@pytest.mark.parametrize("kernel", [False, True])
def test_problem_owns_its_rows(make, kernel) -> None:  # type: ignore[no-untyped-def]
    x = make([[float(v) for v in row] for row in X6])
    problem = svmutil.svm_problem(Y6, x, isKernel=kernel)
    before = [problem.matrix.row(i) for i in range(6)]
    if isinstance(x, list):
        x[0][0] = 9.0
    else:
        (x if isinstance(x, np.ndarray) else x.data)[:] = 9.0
    assert [problem.matrix.row(i) for i in range(6)] == before


def test_scaling_of_other_widths(capsys: pytest.CaptureFixture[str]) -> None:
    # LIBSVM warns too, then fails
    scaling = svmutil.csr_find_scale_param(sparse.csr_matrix(np.array([[1.0, 4.0], [3.0, 0.0]])))
    wide = svmutil.csr_scale(sparse.csr_matrix(np.array([[2.0, 1.0, 5.0]])), scaling)
    assert wide.toarray().tolist() == [[0.0, -0.5, 0.0]]
    narrow = svmutil.csr_scale(sparse.csr_matrix(np.array([[3.0]])), scaling)
    assert narrow.toarray().tolist() == [[1.0]]
    assert capsys.readouterr().err.count("the scaling was found from 2") == 2


@pytest.mark.parametrize("options", ["-q", "-b 1 -q", "-s 2 -b 1 -q", "-s 3 -b 1 -q", "-t 4 -q"])
def test_models_are_copied_and_pickled(options: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 3))
    y = np.where(x[:, 0] > 0, 1, -1)
    if "-t 4" in options:
        x = np.column_stack((np.arange(1, 41), x @ x.T))
    model = svmutil.svm_train(y, x, options)
    expected = svmutil.svm_predict(y, x, model, "-q")
    assert model.l > 1
    assert model.sv_coef  # a cached field must not get in the way
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert svmutil.svm_predict(y, x, twin, "-q") == expected
        assert twin.get_sv_indices() == model.get_sv_indices()
        svmutil.svm_save_model(tmp_path / "twin", twin)
        svmutil.svm_save_model(tmp_path / "model", model)
        assert (tmp_path / "twin").read_bytes() == (tmp_path / "model").read_bytes()


def test_quiet_and_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    svmutil.svm_train(Y6, X6, "-q")
    assert capsys.readouterr().out == ""
    svmutil.svm_train(Y6, X6)
    assert capsys.readouterr().out.endswith("Total nSV = 6\n")


def test_weights_of_classes_changed_in_place() -> None:
    """A training reads them anew, also if only the sign of a 0 changes."""
    param = svmutil.svm_parameter("-q -w1 3")
    assert param.to_parameter().weights == ((1, 3.0),)
    for weight in (-0.0, 0.0, 2.0):
        param.weight[0] = weight
        assert repr(param.to_parameter().weights) == repr(((1, weight),))


def test_a_number_of_weights_that_is_no_integer() -> None:
    param = svmutil.svm_parameter("-q")
    vars(param)["nr_weight"] = 1.5
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        param.to_parameter()
