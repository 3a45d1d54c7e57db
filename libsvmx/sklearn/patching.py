"""Replaces scikit-learn's estimators by libsvmx's, for scripts that import scikit-learn's."""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any

import sklearn.svm

from libsvmx.sklearn.classifiers import SVC, NuSVC
from libsvmx.sklearn.linear import LinearSVC, LinearSVR
from libsvmx.sklearn.outliers import OneClassSVM
from libsvmx.sklearn.regressors import SVR, NuSVR

OURS: dict[str, Any] = {kind.__name__: kind for kind in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)}
# The module that defines scikit-learn's classes is not patched: pickles look their classes up there.
DEFINING = "sklearn.svm._classes"

logger: logging.Logger = logging.getLogger("libsvmx.sklearn")
replaced: list[tuple[ModuleType, str, Any]] = []


def patch_sklearn() -> None:
    """Replace the estimators of ``sklearn.svm`` by libsvmx's.

    These are SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC and LinearSVR. All imported modules of scikit-learn get
    them; names that your own modules imported before are not changed, so call this first. ``penalty="l1"`` and
    ``multi_class="crammer_singer"`` of LinearSVC are then trained by scikit-learn. Estimators pickled by scikit-learn
    stay its own. The logger ``libsvmx.sklearn`` lists at level INFO which names are replaced. A second call does
    nothing.

    Examples
    --------
    >>> import libsvmx
    >>> libsvmx.patch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC is libsvmx.SVC
    True
    >>> libsvmx.unpatch_sklearn()
    """
    if replaced:
        return
    LinearSVC._theirs = sklearn.svm.LinearSVC
    theirs = {id(getattr(sklearn.svm, name)): name for name in OURS}
    for path, module in list(sys.modules.items()):
        if not (path == "sklearn" or path.startswith("sklearn.")) or path == DEFINING or module is None:
            continue
        for attribute, value in list(vars(module).items()):
            name = theirs.get(id(value))
            if name is not None:
                replaced.append((module, attribute, value))
                setattr(module, attribute, OURS[name])
                logger.info("%s.%s is libsvmx's", path, attribute)
    for name in sklearn.svm.__all__:
        if name not in OURS:
            logger.info("sklearn.svm.%s stays scikit-learn's", name)


def unpatch_sklearn() -> None:
    """Undo ``patch_sklearn``. Existing estimators are not changed.

    Examples
    --------
    >>> import libsvmx
    >>> libsvmx.patch_sklearn()
    >>> libsvmx.unpatch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC is libsvmx.SVC
    False
    """
    LinearSVC._theirs = None
    while replaced:
        module, attribute, value = replaced.pop()
        setattr(module, attribute, value)
