"""scikit-learn-intelex (oneDAL), which takes as many threads as the machine has."""

from importlib.util import find_spec

from tools.bench.measure import Unavailable
from tools.bench.peers import sklearn


def load_module():
    if find_spec("sklearnex") is None:
        raise Unavailable("scikit-learn-intelex is not installed")
    from sklearnex import svm

    return svm


class Training(sklearn.Training):
    module = staticmethod(load_module)

    def note(self):
        return "" if hasattr(self.estimator, "_onedal_estimator") else "handed on to scikit-learn"
