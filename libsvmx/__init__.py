"""libsvmx: a drop-in, LIBSVM-compatible support vector machine solver.

    cli/  compat/  api/  dask.py      faces: commands, LIBSVM's Python interface, functions over arrays, clusters
    sklearn/                          scikit-learn's estimators, also a face, which needs scikit-learn
    toy/                              the page of svmx-toy, in the browser
    io/                               text in and out; knows models and parameters
    _train/                           parameter, model, pairs of classes, probability estimates, prediction;
        validation/ updating/ cluster/    folds and grids; rows that join and leave; rows on a cluster
    _solvers/                         smo/ path/ decomposition/ interior_point/ seeding/, each an algorithm
    _problem/                         the dual problem, its solution, its certificate
    _kernels/                         kernel rows, row store, shared rows, kernel of test rows, low-rank factors
    _core/                            buffers, sparse rows, C loops and kernel functions, threads
    enums.py  exceptions.py  _typing.py
    svm.py  svmutil.py  commonutil.py  grid.py      LIBSVM's modules, by their names

Each folder's __init__.py draws what is in it and says what to open first.
Imports point down; tools/check_layers.py keeps that.
Public names load on first use: the commands import neither NumPy nor SciPy.
Nothing is compiled in the source folder: there this file hands over to the installed package.
"""

from __future__ import annotations

from os.path import dirname, exists
from time import monotonic  # noqa: TID251  nothing of the package is imported yet

TYPE_CHECKING = False  # but for type checkers, which know the name; nothing else is imported before the hand-over
BEGUN = monotonic()  # from which the time limit of a command counts

if TYPE_CHECKING:
    from typing import Any

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._solvers.auto import Auto
    from libsvmx._solvers.decomposition.solver import IRWLS, Chunked
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._solvers.interior_point.solver import CRSVM
    from libsvmx._solvers.seeding.registry import SEEDERS
    from libsvmx._solvers.smo.solver import SMO
    from libsvmx._train.advice import TrainingPlan
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.updating.transaction import UpdateReport
    from libsvmx._train.validation.fold_report import FoldReport
    from libsvmx._version import VERSION as __version__
    from libsvmx.api.advice import explain_training
    from libsvmx.api.alignment import alignment_weights
    from libsvmx.api.arrays import decision_values, predict
    from libsvmx.api.compressing import Compression, compress
    from libsvmx.api.configuration import show_config
    from libsvmx.api.cost_path import CostPath, c_path
    from libsvmx.api.explaining import Explanation, explain
    from libsvmx.api.exporting import export
    from libsvmx.api.grid import GridSearch, grid_search
    from libsvmx.api.influence import Influence, influence
    from libsvmx.api.intervals import (
        Intervals,
        LabelSets,
        conformal_p_values,
        cv_plus,
        full_conformal,
        jackknife_plus,
    )
    from libsvmx.api.low_rank import LowRankKernel, low_rank
    from libsvmx.api.many import fit_many
    from libsvmx.api.own_kernel import Kernel, Product, Sum
    from libsvmx.api.permutation import PermutationTest, permutation_test
    from libsvmx.api.quantile_intervals import quantile_intervals
    from libsvmx.api.state import State
    from libsvmx.api.tau_path import TauPath, tau_path
    from libsvmx.api.training import load_model, predict_probability, read_problem, save_model, train
    from libsvmx.api.validation import CrossValidation, LeaveOneOut, cross_validate, leave_one_out
    from libsvmx.enums import KernelType, SvmType
    from libsvmx.exceptions import (
        ConvergenceWarning,
        DataError,
        FormatError,
        ParameterError,
        StoppedEarly,
        SvmxError,
    )
    from libsvmx.sklearn import SVC as SVC
    from libsvmx.sklearn import SVCCV as SVCCV
    from libsvmx.sklearn import SVMRFE as SVMRFE
    from libsvmx.sklearn import SVMRFECV as SVMRFECV
    from libsvmx.sklearn import SVR as SVR
    from libsvmx.sklearn import SVRCV as SVRCV
    from libsvmx.sklearn import LinearSVC as LinearSVC
    from libsvmx.sklearn import LinearSVCCV as LinearSVCCV
    from libsvmx.sklearn import LinearSVR as LinearSVR
    from libsvmx.sklearn import LinearSVRCV as LinearSVRCV
    from libsvmx.sklearn import MultiOutputSVR as MultiOutputSVR
    from libsvmx.sklearn import NuSVC as NuSVC
    from libsvmx.sklearn import NuSVR as NuSVR
    from libsvmx.sklearn import OneClassSVM as OneClassSVM
    from libsvmx.sklearn import OneVsRestSVC as OneVsRestSVC
    from libsvmx.sklearn import QuantileSVR as QuantileSVR
    from libsvmx.sklearn import patch_sklearn as patch_sklearn
    from libsvmx.sklearn import unpatch_sklearn as unpatch_sklearn

__all__ = [
    "CRSVM",
    "IRWLS",
    "SEEDERS",
    "SMO",
    "Auto",
    "Chunked",
    "Compression",
    "ConvergenceWarning",
    "CostPath",
    "CrossValidation",
    "CsrMatrix",
    "DataError",
    "Explanation",
    "FoldReport",
    "FormatError",
    "GridSearch",
    "Influence",
    "Intervals",
    "Iteration",
    "Kernel",
    "KernelType",
    "LabelSets",
    "LeaveOneOut",
    "LowRankKernel",
    "Model",
    "Observer",
    "Parameter",
    "ParameterError",
    "PermutationTest",
    "Product",
    "SolveReport",
    "State",
    "StoppedEarly",
    "Sum",
    "SvmType",
    "SvmxError",
    "TauPath",
    "TrainingPlan",
    "UpdateReport",
    "__version__",
    "alignment_weights",
    "c_path",
    "compress",
    "conformal_p_values",
    "cross_validate",
    "cv_plus",
    "decision_values",
    "explain",
    "explain_training",
    "export",
    "fit_many",
    "full_conformal",
    "grid_search",
    "influence",
    "jackknife_plus",
    "leave_one_out",
    "load_model",
    "low_rank",
    "permutation_test",
    "predict",
    "predict_probability",
    "quantile_intervals",
    "read_problem",
    "save_model",
    "show_config",
    "tau_path",
    "train",
]

_HOME = {
    "Auto": "_solvers.auto",
    "CRSVM": "_solvers.interior_point.solver",
    "Chunked": "_solvers.decomposition.solver",
    "Compression": "api.compressing",
    "ConvergenceWarning": "exceptions",
    "CostPath": "api.cost_path",
    "CrossValidation": "api.validation",
    "CsrMatrix": "_core.matrix",
    "DataError": "exceptions",
    "Explanation": "api.explaining",
    "FoldReport": "_train.validation.fold_report",
    "FormatError": "exceptions",
    "GridSearch": "api.grid",
    "IRWLS": "_solvers.decomposition.solver",
    "Influence": "api.influence",
    "Intervals": "api.intervals",
    "Iteration": "_solvers.interior_point.predictor_corrector",
    "Kernel": "api.own_kernel",
    "KernelType": "enums",
    "LabelSets": "api.intervals",
    "LeaveOneOut": "api.validation",
    "LowRankKernel": "api.low_rank",
    "Model": "_train.model",
    "Observer": "_train.observer",
    "Parameter": "_train.parameter",
    "ParameterError": "exceptions",
    "PermutationTest": "api.permutation",
    "Product": "api.own_kernel",
    "SMO": "_solvers.smo.solver",
    "SEEDERS": "_solvers.seeding.registry",
    "SolveReport": "_train.solve_report",
    "State": "api.state",
    "StoppedEarly": "exceptions",
    "Sum": "api.own_kernel",
    "SvmType": "enums",
    "SvmxError": "exceptions",
    "TauPath": "api.tau_path",
    "TrainingPlan": "_train.advice",
    "UpdateReport": "_train.updating.transaction",
    "alignment_weights": "api.alignment",
    "c_path": "api.cost_path",
    "compress": "api.compressing",
    "conformal_p_values": "api.intervals",
    "cross_validate": "api.validation",
    "cv_plus": "api.intervals",
    "decision_values": "api.arrays",
    "explain": "api.explaining",
    "explain_training": "api.advice",
    "export": "api.exporting",
    "fit_many": "api.many",
    "full_conformal": "api.intervals",
    "grid_search": "api.grid",
    "influence": "api.influence",
    "jackknife_plus": "api.intervals",
    "leave_one_out": "api.validation",
    "low_rank": "api.low_rank",
    "permutation_test": "api.permutation",
    "predict": "api.arrays",
    "quantile_intervals": "api.quantile_intervals",
    "show_config": "api.configuration",
    "tau_path": "api.tau_path",
}

# Need scikit-learn: `import *` and dir() have them where it is installed.
_ESTIMATORS = (
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVRCV",
    "LinearSVR",
    "MultiOutputSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OneVsRestSVC",
    "QuantileSVR",
    "SVC",
    "SVCCV",
    "SVMRFE",
    "SVMRFECV",
    "SVR",
    "SVRCV",
    "patch_sklearn",
    "unpatch_sklearn",
)

_SOURCE = "meson.build"  # beside this file in the source folder alone; an editable install has a __path__ of its own


def _hand_over() -> None:
    """Put the installed package in the place of this module, so that `python` in a clone finds compiled modules.

    An import returns what stands in sys.modules at its end, so all that follows is the installed package's alone.
    """
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    for folder in sys.path:
        spec = PathFinder.find_spec(__name__, [folder])
        if spec and spec.loader and spec.origin and not exists(f"{dirname(spec.origin)}/{_SOURCE}"):
            module = sys.modules[__name__] = module_from_spec(spec)
            spec.loader.exec_module(module)
            return
    from shlex import quote

    raise ImportError(
        f"libsvmx is not installed for {sys.executable}. The folder {__path__[0]} is its source, in which nothing is "
        f"compiled. To install it: {quote(sys.executable)} -m pip install {quote(dirname(__path__[0]))}",
        name=__name__,
    )


if exists(f"{__path__[0]}/{_SOURCE}"):
    _hand_over()


_NAMES = __all__
if not TYPE_CHECKING:
    del __all__  # made on demand by __getattr__, so that only `import *` looks for scikit-learn


def _all() -> list[str]:
    from importlib import import_module

    try:
        import_module("libsvmx.sklearn")
    except Exception:  # scikit-learn is missing, too old, or made for another NumPy
        return list(_NAMES)
    return [*_NAMES, *_ESTIMATORS]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return _all()
    if name == "__version__":
        return import_module("libsvmx._version").VERSION
    if name in _ESTIMATORS:
        home = "sklearn"
    elif name in _NAMES:
        home = _HOME.get(name, "api.training")
    else:
        raise AttributeError(f"module 'libsvmx' has no attribute {name!r}")
    value = getattr(import_module(f"libsvmx.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from importlib.util import find_spec

    return sorted([*_NAMES, *(_ESTIMATORS if find_spec("sklearn") else ())])
