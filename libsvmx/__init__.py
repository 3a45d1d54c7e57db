"""libsvmx: a drop-in, LIBSVM-compatible support vector machine solver.

    cli/  compat/  api/  dask.py      faces: commands, LIBSVM's Python interface, functions over arrays, clusters
    sklearn/                          scikit-learn's estimators, also a face, which needs scikit-learn
    toy/                              the page of svmx-toy, in the browser
    io/                               text in and out; knows models and parameters
    _train/                           parameter, model, pairs of classes, probability estimates, prediction;
        validation/ updating/ cluster/    folds and grids; rows that join and leave; rows on a cluster
    _solvers/                         smo/ path/ decomposition/ interior_point/ seeding/, each an algorithm; dual
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

    from libsvmx._core.matrix import CsrMatrix as CsrMatrix
    from libsvmx._solvers.auto import Auto as Auto
    from libsvmx._solvers.decomposition.solver import IRWLS as IRWLS
    from libsvmx._solvers.decomposition.solver import Chunked as Chunked
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration as Iteration
    from libsvmx._solvers.interior_point.solver import CRSVM as CRSVM
    from libsvmx._solvers.seeding.registry import SEEDERS as SEEDERS
    from libsvmx._solvers.smo.solver import SMO as SMO
    from libsvmx._train.advice import TrainingPlan as TrainingPlan
    from libsvmx._train.model import Model as Model
    from libsvmx._train.observer import Observer as Observer
    from libsvmx._train.parameter import Parameter as Parameter
    from libsvmx._train.solve_report import SolveReport as SolveReport
    from libsvmx._train.updating.transaction import UpdateReport as UpdateReport
    from libsvmx._train.validation.fold_report import FoldReport as FoldReport
    from libsvmx.api.advice import explain_training as explain_training
    from libsvmx.api.alignment import alignment_weights as alignment_weights
    from libsvmx.api.arrays import decision_values as decision_values
    from libsvmx.api.arrays import predict as predict
    from libsvmx.api.compressing import Compression as Compression
    from libsvmx.api.compressing import compress as compress
    from libsvmx.api.configuration import show_config as show_config
    from libsvmx.api.cost_path import CostPath as CostPath
    from libsvmx.api.cost_path import c_path as c_path
    from libsvmx.api.explaining import Explanation as Explanation
    from libsvmx.api.explaining import explain as explain
    from libsvmx.api.exporting import export as export
    from libsvmx.api.grid import GridSearch as GridSearch
    from libsvmx.api.grid import grid_search as grid_search
    from libsvmx.api.influence import Influence as Influence
    from libsvmx.api.influence import influence as influence
    from libsvmx.api.intervals import Intervals as Intervals
    from libsvmx.api.intervals import LabelSets as LabelSets
    from libsvmx.api.intervals import conformal_p_values as conformal_p_values
    from libsvmx.api.intervals import cv_plus as cv_plus
    from libsvmx.api.intervals import full_conformal as full_conformal
    from libsvmx.api.intervals import jackknife_plus as jackknife_plus
    from libsvmx.api.low_rank import LowRankKernel as LowRankKernel
    from libsvmx.api.low_rank import low_rank as low_rank
    from libsvmx.api.many import fit_many as fit_many
    from libsvmx.api.own_kernel import Kernel as Kernel
    from libsvmx.api.own_kernel import Product as Product
    from libsvmx.api.own_kernel import Sum as Sum
    from libsvmx.api.permutation import PermutationTest as PermutationTest
    from libsvmx.api.permutation import permutation_test as permutation_test
    from libsvmx.api.quantile_intervals import quantile_intervals as quantile_intervals
    from libsvmx.api.state import State as State
    from libsvmx.api.tau_path import TauPath as TauPath
    from libsvmx.api.tau_path import tau_path as tau_path
    from libsvmx.api.training import load_model as load_model
    from libsvmx.api.training import predict_probability as predict_probability
    from libsvmx.api.training import read_problem as read_problem
    from libsvmx.api.training import save_model as save_model
    from libsvmx.api.training import train as train
    from libsvmx.api.validation import CrossValidation as CrossValidation
    from libsvmx.api.validation import LeaveOneOut as LeaveOneOut
    from libsvmx.api.validation import cross_validate as cross_validate
    from libsvmx.api.validation import leave_one_out as leave_one_out
    from libsvmx.enums import KernelType as KernelType
    from libsvmx.enums import SvmType as SvmType
    from libsvmx.exceptions import ConvergenceWarning as ConvergenceWarning
    from libsvmx.exceptions import DataError as DataError
    from libsvmx.exceptions import FormatError as FormatError
    from libsvmx.exceptions import ParameterError as ParameterError
    from libsvmx.exceptions import StoppedEarly as StoppedEarly
    from libsvmx.exceptions import SvmxError as SvmxError
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

    __version__: str

# Public names by the module that has them, which is loaded when one of them is first used.
_HOMES = {
    "_core.matrix": ("CsrMatrix",),
    "_solvers.auto": ("Auto",),
    "_solvers.decomposition.solver": ("Chunked", "IRWLS"),
    "_solvers.interior_point.predictor_corrector": ("Iteration",),
    "_solvers.interior_point.solver": ("CRSVM",),
    "_solvers.seeding.registry": ("SEEDERS",),
    "_solvers.smo.solver": ("SMO",),
    "_train.advice": ("TrainingPlan",),
    "_train.model": ("Model",),
    "_train.observer": ("Observer",),
    "_train.parameter": ("Parameter",),
    "_train.solve_report": ("SolveReport",),
    "_train.updating.transaction": ("UpdateReport",),
    "_train.validation.fold_report": ("FoldReport",),
    "api.advice": ("explain_training",),
    "api.alignment": ("alignment_weights",),
    "api.arrays": ("decision_values", "predict"),
    "api.compressing": ("Compression", "compress"),
    "api.configuration": ("show_config",),
    "api.cost_path": ("CostPath", "c_path"),
    "api.explaining": ("Explanation", "explain"),
    "api.exporting": ("export",),
    "api.grid": ("GridSearch", "grid_search"),
    "api.influence": ("Influence", "influence"),
    "api.intervals": ("Intervals", "LabelSets", "conformal_p_values", "cv_plus", "full_conformal", "jackknife_plus"),
    "api.low_rank": ("LowRankKernel", "low_rank"),
    "api.many": ("fit_many",),
    "api.own_kernel": ("Kernel", "Product", "Sum"),
    "api.permutation": ("PermutationTest", "permutation_test"),
    "api.quantile_intervals": ("quantile_intervals",),
    "api.state": ("State",),
    "api.tau_path": ("TauPath", "tau_path"),
    "api.training": ("load_model", "predict_probability", "read_problem", "save_model", "train"),
    "api.validation": ("CrossValidation", "LeaveOneOut", "cross_validate", "leave_one_out"),
    "enums": ("KernelType", "SvmType"),
    "exceptions": ("ConvergenceWarning", "DataError", "FormatError", "ParameterError", "StoppedEarly", "SvmxError"),
    "sklearn": (  # `import *` and dir() have these where scikit-learn is installed
        *("SVC", "SVCCV", "SVMRFE", "SVMRFECV", "SVR", "SVRCV", "LinearSVC", "LinearSVCCV", "LinearSVR", "LinearSVRCV"),
        *("MultiOutputSVR", "NuSVC", "NuSVR", "OneClassSVM", "OneVsRestSVC", "QuantileSVR"),
        *("patch_sklearn", "unpatch_sklearn"),
    ),
}
_ESTIMATORS = _HOMES["sklearn"]

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


def _all() -> list[str]:
    """The names of ``import *``."""
    from importlib import import_module

    try:
        import_module("libsvmx.sklearn")
    except Exception:  # scikit-learn is missing, too old, or made for another NumPy
        return _names(estimators=False)
    return _names(estimators=True)


def _names(estimators: bool) -> list[str]:
    """All public names, with those that need scikit-learn or without."""
    homes = _HOMES if estimators else {home: names for home, names in _HOMES.items() if names is not _ESTIMATORS}
    return sorted(["__version__", *(name for names in homes.values() for name in names)])


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return _all()
    if name == "__version__":
        return import_module("libsvmx._version").VERSION
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'libsvmx' has no attribute {name!r}")
    value = getattr(import_module(f"libsvmx.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from importlib.util import find_spec

    return _names(estimators=find_spec("sklearn") is not None)
