"""scikit-learn's support vector estimators over libsvmx.

    classifiers.py    SVC, NuSVC: labels, class weights, decision functions, probabilities
    regressors.py     SVR, NuSVR
    quantiles.py      QuantileSVR
    several.py        OneVsRestSVC, MultiOutputSVR
      together.py     the fit of one estimator, or of several over the same rows; QuantileSVR's of several tau, too
    outliers.py       OneClassSVM
      base.py         what they share: training, attributes, predictions; open it first
      input_checks.py  scikit-learn's validation, cut short where it has nothing to find
      rows.py         rows, weights and kernels of scikit-learn's kinds, as the lower layers take them
      updating.py     rows that join and leave a fitted estimator, leave-one-out; kept.py: the rows it keeps
      training.py     training along the very path of scikit-learn's LIBSVM, from a known start, to the optimum
      progress.py     callbacks, bars, the transcript; tasks.py: scikit-learn's own callbacks
      files.py        model files of LIBSVM (class_order.py: their classes, sorted); pickling.py: pickles
      fitted.py       the trained model of an estimator, with what predicts by it
    linear.py         LinearSVC, LinearSVR: the problems of LIBLINEAR, by a solver of their own
    linear_search.py    LinearSVCCV, LinearSVRCV
    search.py         SVCCV, SVRCV: C and gamma by cross-validation within one fit
      search_folds.py     scores of the points, by columns of growing C or training by training
      search_results.py   cv_results_
    elimination.py    SVMRFE, SVMRFECV: features left out one after the other
    docstrings.py     what one estimator describes shown in others, too
    patching.py       puts them in the place of scikit-learn's own; __main__.py does so for a script

All of libsvmx that imports scikit-learn is here.
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
    # Only where it has a link to them does scikit-learn show descriptions of parameters in a notebook.
    _kind._doc_link_module = "libsvmx"
    _kind._doc_link_template = "https://github.com/libsvmx/libsvmx/blob/main/docs/sklearn.md"
    if _kind.__doc__:  # python -OO leaves them out
        _kind.__doc__ = _whole(_kind.__doc__, _estimators)
