"""scikit-learn's support vector estimators over libsvmx.

    classifiers.py    SVC, NuSVC: labels, class weights, decision functions, probabilities
    regressors.py     SVR, NuSVR
    quantiles.py      QuantileSVR
    several.py        OneVsRestSVC, MultiOutputSVR
      together.py     fits one estimator, or several on the same rows (also QuantileSVR with several tau)
    outliers.py       OneClassSVM
      base.py         base class: training, attributes, predictions; open it first
      parameters.py   parameters as fields of a class: default, and what is allowed
      input_checks.py  scikit-learn's validation, with a shortcut for plain arrays
      rows.py         converts scikit-learn's rows and weights for the lower layers
      updating.py     adds and removes rows of a fitted estimator, leave-one-out; kept.py: the rows it keeps
      training.py     follows scikit-learn's LIBSVM step by step, warm-starts, refines to the exact optimum
      progress.py     callbacks, bars, the transcript; tasks.py: scikit-learn's own callbacks
      files.py        model files of LIBSVM (class_order.py: their classes, sorted); pickling.py: pickles
      fitted.py       the trained model of an estimator; predicts
    linear.py         LinearSVC, LinearSVR: LIBLINEAR's problems, with their own solver
    linear_search.py    LinearSVCCV, LinearSVRCV
    search.py         SVCCV, SVRCV: C and gamma by cross-validation within one fit
      search_folds.py     scores of the points: one gamma at a time, or one training at a time; cv_results_
    elimination.py    SVMRFE, SVMRFECV: recursive feature elimination
    docstrings.py     replaces "As in ``SVC``" by SVC's text
    patching.py       replaces scikit-learn's own estimators; __main__.py does so for a script

No other folder imports scikit-learn.
"""

from __future__ import annotations

from libsvmx._core.packages import install_command

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the estimators need scikit-learn, which cannot be imported: {error}. "
        f"To install it: {install_command('sklearn')}",
        name="sklearn",
    ) from error

from libsvmx.sklearn.classifiers import SVC, NuSVC
from libsvmx.sklearn.docstrings import whole as _whole
from libsvmx.sklearn.elimination import SVMRFE, SVMRFECV
from libsvmx.sklearn.linear import LinearSVC, LinearSVR
from libsvmx.sklearn.linear_search import LinearSVCCV, LinearSVRCV
from libsvmx.sklearn.outliers import OneClassSVM
from libsvmx.sklearn.patching import patch_sklearn, unpatch_sklearn
from libsvmx.sklearn.progress import Progress
from libsvmx.sklearn.quantiles import QuantileSVR
from libsvmx.sklearn.regressors import SVR, NuSVR
from libsvmx.sklearn.search import SVCCV, SVRCV
from libsvmx.sklearn.several import MultiOutputSVR, OneVsRestSVC

__all__ = [
    "SVC",
    "SVCCV",
    "SVMRFE",
    "SVMRFECV",
    "SVR",
    "SVRCV",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "MultiOutputSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OneVsRestSVC",
    "Progress",
    "QuantileSVR",
    "patch_sklearn",
    "unpatch_sklearn",
]

_estimators = {_name: globals()[_name] for _name in __all__ if hasattr(globals()[_name], "fit")}
for _kind in _estimators.values():
    # scikit-learn shows parameter descriptions in a notebook only for classes with a documentation link.
    _kind._doc_link_module = "libsvmx"
    _kind._doc_link_template = "https://github.com/libsvmx/libsvmx/blob/main/docs/sklearn.md"
    if _kind.__doc__:  # None with python -OO
        _kind.__doc__ = _whole(_kind.__doc__, _estimators)
