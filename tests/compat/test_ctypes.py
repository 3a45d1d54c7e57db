"""Programs that use LIBSVM's C structures from Python: the same script with LIBSVM's modules and with ours."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
from ctypes import POINTER, byref, c_double, c_float, c_int, cast, pointer
from pathlib import Path

import numpy as np
import pytest
from support.modules import same_output

from libsvmx import svmutil
from libsvmx.exceptions import DataError
from libsvmx.svmutil import PRINT_STRING_FUN, gen_svm_nodearray, libsvm, svm_node, svm_parameter, svm_problem, toPyModel

pytest.importorskip("libsvm.svmutil", reason="the oracle, libsvm-official, is not installed")

Y6, X6 = [1, -1, 1, -1, 1, -1], [[1, 0.5], [2, 0], [0, 3], [4, 4], [1, 1], [0, 2]]


def test_rows_filled_by_hand(tmp_path: Path) -> None:
    script = """
from ctypes import *
model = svm_train(Y4, X, "-b 1 -q")
values, probabilities = (c_double * 6)(), (c_double * 4)()
for row in X:
    nodes = (svm_node * 8)()
    for at, value in enumerate(row):
        nodes[at].index, nodes[at].value = at + 1, value
    nodes[6].index = -1
    nodes[7].index = 99  # after the end
    print(libsvm.svm_predict(model, nodes), libsvm.svm_predict_values(model, nodes, values), values[:])
    print(libsvm.svm_predict_probability(model, nodes, probabilities), list(probabilities))
    print(libsvm.svm_predict(model, byref(nodes[0])), libsvm.svm_predict(model, cast(nodes, POINTER(svm_node))))
    print(libsvm.svm_predict(model, nodes[0]))
    table = np.zeros(7, dtype=svm_node)
    table["index"] = [1, 2, 3, 4, 5, 6, -1]
    table["value"][:6] = row
    print(libsvm.svm_predict(model, cast(table.ctypes.data, POINTER(svm_node))))
    nodes[3].index = -1  # cuts the row
    print(libsvm.svm_predict_values(model, nodes, values), values[:])
    made, _ = gen_svm_nodearray(row.tolist())
    if len(made) > 2:
        made[2].index = -1
    print(libsvm.svm_predict_values(model, made, values), values[:])
"""
    assert len(set(same_output(script, tmp_path).splitlines())) > 60


def test_outputs_by_reference(tmp_path: Path) -> None:
    script = """
from ctypes import *
two, four = svm_train(Y, X, "-q"), svm_train(Y4, X, "-b 1 -q")
for row in X:
    nodes, _ = gen_svm_nodearray(row)
    value, array = c_double(7.0), np.zeros(6)
    print(libsvm.svm_predict_values(two, nodes, byref(value)), value.value)
    print(libsvm.svm_predict_values(two, nodes, value), value.value)
    print(libsvm.svm_predict_values(two, nodes, pointer(value)), value.value)
    print(libsvm.svm_predict_values(four, nodes, array.ctypes.data_as(POINTER(c_double))), array.tolist())
    print(libsvm.svm_predict_probability(four, nodes, array.ctypes.data_as(POINTER(c_double))), array.tolist())
    held = (c_double * 8)()
    print(libsvm.svm_predict_values(four, nodes, held), held[:])
labels, indices = (c_int * 4)(), (c_int * four.l)()
libsvm.svm_get_labels(four, labels)
libsvm.svm_get_sv_indices(byref(four), cast(indices, POINTER(c_int)))
print(labels[:], indices[:])
target = np.zeros(60)
libsvm.svm_cross_validation(svm_problem(Y4, X), svm_parameter("-q"), 5, target.ctypes.data_as(POINTER(c_double)))
print(target.tolist())
"""
    assert "7.0" not in same_output(script, tmp_path)


def test_models_behind_pointers(tmp_path: Path) -> None:
    script = """
from ctypes import *
problem, param = svm_problem(Y4, X), svm_parameter(["-c", 2, "-b", "1", "-q"])
param.gamma = 0.5
model = libsvm.svm_train(problem, byref(param))
row, _ = gen_svm_nodearray(X[5])
print(libsvm.svm_predict(model, row), libsvm.svm_predict(model.contents, row))
print(libsvm.svm_predict(byref(model.contents), row))
print(model.contents.l, model.contents.param.gamma, model.contents.nr_class, model[0].label[:4])
held = toPyModel(model)
held.x_space = problem.x_space
print(held.get_labels(), held.get_sv_coef(), bool(held), isinstance(held, svm_model))
svm_save_model("ptr", model)
svm_save_model("held", held)
print(open("ptr").read(), open("held").read())
print(isinstance(model, POINTER(svm_model)), bool(POINTER(svm_model)()), libsvm.svm_check_probability_model(model))
single = libsvm.svm_train(pointer(problem), pointer(param))
print(bool(single))
libsvm.svm_free_and_destroy_model(byref(single))
print(bool(single))
single = libsvm.svm_train(problem, param)
libsvm.svm_free_and_destroy_model(pointer(single))
print(bool(single))
libsvm.svm_free_model_content(libsvm.svm_train(problem, param))
"""
    output = same_output(script, tmp_path)
    assert output.splitlines()[-3:] == ["True", "False", "False"]


def test_values_written_into_fields_count(tmp_path: Path) -> None:
    script = """
model = svm_train(Y4, X, "-b 1 -q")
print(svm_predict(Y4, X, model))
model.rho[0] += 0.25
model.rho[2] = -3
print(svm_predict(Y4, X, model), contents(model, "rho"))
model.sv_coef[0][3] = 0.5
model.probA[1] = -0.5
model.probB[1] = 0.25
model.label[0] = 9
print(svm_predict(Y4, X, model), svm_predict(Y4, X, model, "-b 1"), contents(model, "all"))
model.param.gamma = 0.75
model.SV[0][0].value = 4
print(svm_predict(Y4, X, model), contents(model, "kernel"))
problem = svm_problem(Y4, X)
problem.y[3] = problem.y[0]
problem.x[2][0].value = 5
problem.x[4][1].index = -1
problem.x[6] = gen_svm_nodearray({1: 3, 2: 4})[0]
changed = svm_train(problem, "-q")
print(changed.get_SV(), contents(changed, "problem"), problem.x[2][0].value, problem.x[6][0].value)
marks = svm_train(Y4, X, "-s 2 -b 1 -q")
marks.prob_density_marks[4] = 0.9
print(svm_predict(Y4, X, marks, "-b 1"))
kernel = svm_parameter("-q -t 4")
kernel.C, kernel.nr_weight, kernel.weight_label, kernel.weight = 2, 1, (C_INT * 1)(1), (c_double * 1)(3)
print(contents(svm_train(svm_problem(Y, np.column_stack((np.arange(1, 61), X @ X.T)), True), kernel), "weights"))
""".replace("C_INT", "__import__('ctypes').c_int")
    output = same_output(script, tmp_path)
    assert len(set(output.split("SV\n"))) > 5


def test_printing_is_of_the_process(tmp_path: Path) -> None:
    script = """
problem, param = svm_problem(Y, X), svm_parameter("-g 0.5")
print("default")
libsvm.svm_train(problem, param)
svm_train(Y, X, "-q")
print("after -q")
libsvm.svm_train(problem, param)
libsvm.svm_cross_validation(problem, param, 3, (c_double * 60)())
print("after another parameter")
other = svm_parameter()
libsvm.svm_train(problem, param)
quiet = svm_parameter("-q")
print("after a quiet one")
libsvm.svm_train(problem, param)
print("svm_train with a parameter of its own")
svm_train(problem, param)
svm_train(problem, quiet)
libsvm.svm_train(problem, param)
print("set by hand")
heard = []
listen = PRINT_STRING_FUN(heard.append)
libsvm.svm_set_print_string_function(listen)
libsvm.svm_train(problem, param)
print(b"".join(heard))
param.print_func = listen
heard.clear()
svm_train(problem, param)
print(b"".join(heard))
"""
    output = same_output(script, tmp_path)
    assert output.count("optimization finished") == 5


def model_of() -> svmutil.svm_model:
    model = svmutil.svm_train(Y6, X6, "-q")
    assert isinstance(model, svmutil.svm_model)
    return model


def test_arrays_of_the_wrong_kind_or_size() -> None:
    model, (row, _) = model_of(), gen_svm_nodearray(X6[0])
    for wrong in ((c_float * 2)(), byref(c_float()), byref((c_int * 2)()), pointer(c_float()), "ab", None, 3.0):
        with pytest.raises(TypeError):
            libsvm.svm_predict_values(model, row, wrong)
    for lossy in (np.empty(1, int), np.empty(1, np.float32), np.empty(1, bool), np.empty((1, 1)), np.array(0.0)):
        with pytest.raises(TypeError, match="must be of one dimension and hold a c_double"):
            libsvm.svm_predict_values(model, row, lossy)
    labels = np.empty(2, int)
    libsvm.svm_get_labels(model, labels)
    assert labels.tolist() == model.label
    for small in ((c_double * 0)(), np.empty(0), [], byref((c_double * 1)(), 8)):
        with pytest.raises(ValueError, match="0 places, but there are 1"):
            libsvm.svm_predict_values(model, row, small)
    held = (c_double * 8)()
    libsvm.svm_predict_values(model, row, byref(held, 16))
    assert [at for at, value in enumerate(held) if value] == [2]
    with pytest.raises(ValueError, match="1 places, but there are 2"):
        libsvm.svm_get_labels(model, byref(c_int()))
    with pytest.raises(ValueError, match="NULL"):
        libsvm.svm_predict_values(model, row, POINTER(c_double)())


def test_rows_of_the_wrong_kind() -> None:
    model = model_of()
    for wrong in ((c_double * 2)(), [1.0, 2.0], None, {1: 2.0}, "ab", byref(c_double())):
        with pytest.raises(TypeError, match="svm_node"):
            libsvm.svm_predict(model, wrong)
    with pytest.raises(ValueError, match="NULL"):
        libsvm.svm_predict(model, POINTER(svm_node)())
    with pytest.raises(DataError, match="outside"):
        gen_svm_nodearray({2**32 + 5: 1.0})
    with pytest.raises(DataError, match="outside"):
        gen_svm_nodearray({-1: 1.0, 3: 1.0})
    nodes = (svm_node * 2)((1, 1.0), (2, 0.5))  # no end mark: the array ends the row
    assert libsvm.svm_predict(model, nodes) == libsvm.svm_predict(model, gen_svm_nodearray(X6[0])[0])
    assert libsvm.svm_predict(model, nodes[1]) == libsvm.svm_predict(model, gen_svm_nodearray([0, 0.5])[0])
    alone = svm_node(2, 0.5)
    assert libsvm.svm_predict(model, alone) == libsvm.svm_predict(model, nodes[1])


def test_models_of_the_wrong_kind() -> None:
    row, _ = gen_svm_nodearray(X6[0])
    for wrong in (None, POINTER(svmutil.svm_model)()):
        with pytest.raises(ValueError, match="NULL"):
            libsvm.svm_predict(wrong, row)
    for other in (svm_parameter(), 3, pointer(svm_parameter()), row):
        with pytest.raises(TypeError, match="svm_model"):
            libsvm.svm_predict(other, row)
    with pytest.raises(TypeError, match="made by svm_train"):
        svmutil.svm_model(svm_problem(Y6, X6), svm_parameter())  # LIBSVM 2's call: scripts try it, then use the new one
    with pytest.raises(TypeError):
        svm_parameter(C=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="svm_problem"):
        libsvm.svm_train(Y6, svm_parameter())


def test_a_freed_model_is_an_error() -> None:
    row, _ = gen_svm_nodearray(X6[0])
    for free in (libsvm.svm_free_model_content, libsvm.svm_free_and_destroy_model):
        model = model_of()
        assert model.rho
        free(pointer(model))
        assert set(model._attributes.values()) == {None}
        for use in (lambda: libsvm.svm_predict(model, row), lambda: model.rho, lambda: model.l, model.get_SV):  # noqa: B023
            with pytest.raises(ValueError, match="freed"):
                use()
        free(pointer(model))  # a second time: no effect
    inner = pointer(model_of())
    libsvm.svm_free_and_destroy_model(byref(inner))
    assert not inner
    libsvm.svm_free_and_destroy_model(byref(inner))
    libsvm.svm_destroy_param(svm_parameter("-w1 2"))


def test_fields_that_fit_no_model() -> None:
    model, (row, _) = model_of(), gen_svm_nodearray(X6[0])
    model.rho = [0.0, 1.0]
    with pytest.raises(ValueError, match="offsets"):
        libsvm.svm_predict(model, row)
    for name in ("l", "nr_class"):
        with pytest.raises(AttributeError):
            setattr(model, name, 3)
    problem = svm_problem(Y6, X6)
    problem.y.append(1.0)
    with pytest.raises(DataError, match="7 labels"):
        svmutil.svm_train(problem, "-q")
    problem = svm_problem(Y6, X6)
    problem.x[0][0].value = float("nan")
    with pytest.raises(DataError, match="row 0"):
        svmutil.svm_train(problem, "-q")
    with pytest.raises(TypeError, match="svm_node"):
        problem.x[1] = [1.0, 2.0]  # type: ignore[index]


def test_contents_are_shared_and_outlive_the_pointer() -> None:
    def made() -> svmutil.svm_model:
        return toPyModel(libsvm.svm_train(svm_problem(Y6, X6), svm_parameter("-q -g 1")))

    model = made()
    gc.collect()
    twin = pointer(model).contents
    assert twin is not model
    twin.rho[0] = 4.0
    assert model.rho[0] == 4.0
    twin.note = "kept"
    assert model.note == "kept"
    param = svm_parameter("-c 3 -q")
    pointer(param).contents.C = 5
    assert param.C == 5.0
    with pytest.raises(TypeError):
        pointer(param).contents.degree = 1.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: svm_node(3, 0.5),
        lambda: svm_parameter("-c 3 -w1 2 -q"),
        lambda: svm_problem(Y6, X6),
        lambda: PRINT_STRING_FUN(svmutil.print_null),
    ],
)
def test_all_can_be_copied_and_pickled(make) -> None:  # type: ignore[no-untyped-def]
    for twin in (copy.copy(make()), copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        assert type(twin) is type(make())
        assert str(twin).split("print_func")[0] == str(make()).split("print_func")[0] or not isinstance(
            twin, (svm_node, svm_parameter)
        )
    problem = pickle.loads(pickle.dumps(svm_problem(Y6, X6)))
    assert svmutil.svm_train(problem, "-q").rho == model_of().rho


def test_a_print_function_that_raises_ends_the_training() -> None:
    def tell(text: bytes) -> None:
        raise KeyError("enough")

    param = svm_parameter()
    param.print_func = PRINT_STRING_FUN(tell)  # LIBSVM's goes on, with the traceback on standard error
    with pytest.raises(KeyError, match="enough"):
        svmutil.svm_train(svm_problem(Y6, X6), param)
    param.print_func = cast(None, PRINT_STRING_FUN)
    assert not param.print_func
    heard: list[bytes] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    param.print_func = kind(heard.append)
    svmutil.svm_train(svm_problem(Y6, X6), param)
    assert b"optimization finished" in b"".join(heard)
