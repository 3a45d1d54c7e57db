"""scikit-learn's support vector estimators over libsvmx: the one chapter that imports scikit-learn.

classifiers.py    SVC, NuSVC: labels, class weights, decision functions, probabilities
regressors.py     SVR, NuSVR
outliers.py       OneClassSVM
  base.py         what they share: validation, training, attributes, decision values; open it first
  rows.py         rows, weights and kernels of scikit-learn's kinds as a Problem
  fitted.py       the trained model of an estimator, with what predicts by it
patching.py       puts them in the place of scikit-learn's own; __main__.py does so for a script
"""

from __future__ import annotations

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the estimators need scikit-learn, which cannot be imported: {error}. "
        "To install it: pip install 'libsvmx[sklearn]'",
        name="sklearn",
    ) from error

from libsvmx.sklearn.classifiers import SVC, NuSVC
from libsvmx.sklearn.outliers import OneClassSVM
from libsvmx.sklearn.patching import patch_sklearn, unpatch_sklearn
from libsvmx.sklearn.regressors import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "patch_sklearn", "unpatch_sklearn"]
