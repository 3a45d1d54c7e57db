"""The public names of libsvm-official, one by one, and those of LIBSVM's older Python modules."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import types
from pathlib import Path

import pytest
from support.modules import same_output

from libsvmx import svmutil

pytest.importorskip("libsvm.svmutil", reason="the oracle, libsvm-official, is not installed")

MODULES = ("svmutil", "svm", "commonutil")

# up to LIBSVM 3.32
CONSTANTS = [
    "C_SVC", "NU_SVC", "ONE_CLASS", "EPSILON_SVR", "NU_SVR", "LINEAR", "POLY", "RBF", "SIGMOID", "PRECOMPUTED",
]  # fmt: skip

FUNCTIONS = {
    "svm_train",
    "svm_cross_validation",
    "svm_save_model",
    "svm_load_model",
    "svm_get_svm_type",
    "svm_get_nr_class",
    "svm_get_labels",
    "svm_get_sv_indices",
    "svm_get_nr_sv",
    "svm_get_svr_probability",
    "svm_predict_values",
    "svm_predict",
    "svm_predict_probability",
    "svm_free_model_content",
    "svm_free_and_destroy_model",
    "svm_destroy_param",
    "svm_check_parameter",
    "svm_check_probability_model",
    "svm_set_print_string_function",
}

# Names that LIBSVM's modules have beside their ``__all__`` and libsvmx lacks, with the reason.
EXCEPTIONS = {
    "array": "the standard library's",
    "CDLL": "of ctypes: there is no C library to load",
    "IntEnum": "the standard library's",
    "find_library": "there is no C library to load",
    "path": "there is no C library to load",
    "glob": "there is no C library to load",
    "dirname": "there is no C library to load",
    "dynamic_lib_name": "there is no C library to load",
    "path_to_so": "there is no C library to load",
    "fillprototype": "there is no C library to declare functions of",
    "genFields": "declares structures of C",
    "csr_to_problem": "fills the C arrays of an svm_problem",
    "csr_to_problem_jit": "fills the C arrays of an svm_problem",
    "csr_to_problem_nojit": "fills the C arrays of an svm_problem",
    "jit": "of numba, or what takes its place",
    "jit_enabled": "of numba, or what takes its place",
    "common_all": "the names of another module",
    "svm_all": "the names of another module",
    "os": "the standard library's",
    "sys": "the standard library's",
    "print_function": "of Python 2",
}


@pytest.mark.parametrize("name", MODULES)
def test_star_imports(name: str) -> None:
    ours, theirs = (importlib.import_module(f"{package}.{name}") for package in ("libsvmx", "libsvm"))
    assert set(ours.__all__) == set(theirs.__all__) | set(CONSTANTS if name != "commonutil" else [])
    assert len(ours.__all__) == len(set(ours.__all__))
    assert all(hasattr(ours, each) for each in ours.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name(name: str) -> None:
    ours, theirs = (importlib.import_module(f"{package}.{name}") for package in ("libsvmx", "libsvm"))
    public = [each for each in vars(theirs) if not each.startswith("_") and each not in EXCEPTIONS]
    if name == "commonutil":  # svm has them, where programs import them from
        public = [each for each in public if each not in ("np", "scipy", "sparse")]
    lacking = [each for each in public if not hasattr(ours, each)]
    assert not lacking
    assert not [
        each for each in EXCEPTIONS if all(hasattr(importlib.import_module(f"libsvmx.{m}"), each) for m in MODULES)
    ]
    for each in public:
        mine, its = getattr(ours, each), getattr(theirs, each)
        if isinstance(its, types.ModuleType) or each in vars(ctypes):
            assert mine is its, each
        else:
            assert callable(mine) == callable(its), each
            assert inspect.isclass(mine) == inspect.isclass(its), each


MORE = {"svm_train": ["arg4"]}  # in LIBSVM's tool for weights: svm_train(W, y, x, options)


def test_signatures() -> None:
    theirs = importlib.import_module("libsvm.svmutil")
    for name in theirs.__all__:
        if inspect.isfunction(getattr(theirs, name)):
            found, expected = (list(inspect.signature(getattr(m, name)).parameters) for m in (svmutil, theirs))
            assert found == expected + MORE.get(name, []), name


def test_fields_and_methods_of_the_classes() -> None:
    theirs = importlib.import_module("libsvm.svmutil")
    problem = svmutil.svm_problem([1, -1], [[1, 2], [2, 1]])
    instances = {
        "svm_node": svmutil.svm_node(),
        "svm_problem": problem,
        "svm_parameter": svmutil.svm_parameter(),
        "svm_model": svmutil.svm_train(problem, "-q"),
    }
    for name, instance in instances.items():
        kind = getattr(theirs, name)
        public = {each for each in vars(kind) if not each.startswith("_")} | {field[0] for field in kind._fields_}
        assert not [each for each in public if not hasattr(instance, each)], name


def test_functions_of_the_library() -> None:
    theirs = importlib.import_module("libsvm.svmutil").libsvm
    assert all(hasattr(theirs, name) and callable(getattr(svmutil.libsvm, name)) for name in FUNCTIONS)
    assert {name for name in vars(type(svmutil.libsvm)) if name.startswith("svm_")} == FUNCTIONS


def test_constants() -> None:
    assert [getattr(svmutil, name) for name in CONSTANTS] == [*range(5), *range(5)]
    for name in CONSTANTS[:5]:
        assert svmutil.svm_forms[name] == getattr(svmutil, name)
    for name in CONSTANTS[5:]:
        assert svmutil.kernel_names[name] == getattr(svmutil, name)


def test_results_and_their_types(tmp_path: Path) -> None:
    """Each public call: equal values of equal types, and equal text printed."""
    script = """
def typed(value):
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [typed(each) for each in value[:5]]
    return type(value).__name__, value if isinstance(value, (int, float, str, bytes)) else None

print(typed(svm_read_problem(HEART)), typed(svm_read_problem(HEART, True)))
print(typed(svm_read_problem(open(HEART))))
print(typed(evaluations([1, 2], [1, 3])), typed(evaluations([1, 2], [1, 3], False)))
y, x = svm_read_problem(HEART)
scale = csr_find_scale_param(sparse.csr_matrix(X))
print(typed(scale), csr_scale(sparse.csr_matrix(X), scale).toarray().tolist())
print(typed(svm_forms(2)), typed(kernel_names(2)), list(svm_forms), list(kernel_names), print_null("x"))
nodes, largest = gen_svm_nodearray({1: 2.0, 5: 3.0, 4: 0})
print(typed(largest), len(nodes), [str(node) for node in nodes], type(nodes).__name__, isinstance(nodes, svm_node * 3))
print([typed((node.index, node.value)) for node in nodes], str(svm_node(3, 0.5)), str(svm_node()))
problem, param = svm_problem(y, x), svm_parameter("-c 3 -w1 2 -w-1 0.5 -b 1")
print(typed((problem.l, problem.n)), typed(problem.y[:9]), [str(problem.x[2][i]) for i in range(14)])
print([typed(getattr(param, name)) for name in param._names if "weight" not in name])
print(param.nr_weight, param.weight_label[:2], param.weight[:2], str(param).split("weight_label")[0])
model = svm_train(problem, param)
for call in ("get_svm_type", "get_nr_class", "get_svr_probability", "get_labels", "get_sv_indices", "get_nr_sv",
             "is_probability_model", "get_sv_coef", "get_SV"):
    print(call, typed(getattr(model, call)()))
for field, n in dict(rho=1, probA=1, probB=1, label=2, nSV=2, sv_indices=5).items():
    print(field, typed(getattr(model, field)[:n]))
print(typed(model.l), typed(model.nr_class), typed(model.free_sv), typed(model.sv_coef[0][:4]), str(model.SV[0][0]))
print(typed(model.param.gamma), typed(model.param.kernel_type), bool(model.prob_density_marks))
print(typed(svm_predict(y, x, model)), typed(svm_predict(y, x, model, "-b 1")), svm_save_model("m", model))
print(typed(svm_train(problem, "-v 3 -q")), typed(svm_train(y, x, "-s 3 -v 3 -q")))
ptr = libsvm.svm_train(problem, param)
print(type(ptr).__name__, bool(ptr), typed(ptr.contents.l), ptr.contents.param.probability)
loaded = libsvm.svm_load_model(b"m")
row = nodes
print(type(loaded).__name__, typed(libsvm.svm_predict(loaded, row)), typed(libsvm.svm_get_nr_sv(loaded)))
print(typed(libsvm.svm_check_parameter(problem, param)), typed(libsvm.svm_get_svr_probability(ptr)))
print(typed(libsvm.svm_get_svm_type(ptr)), typed(libsvm.svm_get_nr_class(ptr)), typed(libsvm.svm_save_model(b"n", ptr)))
print(typed(libsvm.svm_check_probability_model(ptr)), typed(libsvm.svm_set_print_string_function(PRINT_STRING_FUN())))
print(bool(PRINT_STRING_FUN()), bool(PRINT_STRING_FUN(print_null)), typed(c_double(2).value))
held = toPyModel(ptr)
print(held.get_labels(), typed(held.rho[:1]))
try:
    toPyModel(type(ptr)())
except ValueError as error:
    print("NULL", type(error).__name__)
"""
    assert "NULL" in same_output(script, tmp_path)
