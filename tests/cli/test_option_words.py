"""A Parameter as options of svmx-train, which reads the same Parameter from them."""

import math

import pytest

from libsvmx import Parameter
from libsvmx._train.option_words import option_words
from libsvmx._train.parameter import changed, flat_fields
from libsvmx.cli.train import parse_arguments
from libsvmx.enums import KernelType, SvmType

PARAMETERS = {
    "the usual": {},
    "digits": {"C": 0.1 + 0.2, "gamma": 1e-300, "eps": 5e-324, "cache_size": 1e22},
    "hard margin": {"C": math.inf},
    "general": {"cache_size": 0.5, "eps": 0.1, "shrinking": False, "probability": True, "max_iter": 7, "threads": 3},
    "limits": {"time_limit": 1.5, "weights": ((1, 2.0), (-1, 0.0))},
    "quantile": {"svm_type": "quantile_svr", "tau": 0.1 + 0.2},
    "nu": {"svm_type": "nu_svc", "nu": 0.3},
    "a gamma for each feature": {"gamma": (0.1, 0.0, 1e-300)},
    "a solver": {"solver": "auto"},
    "its settings": {"solver": "chunked", "working_set": 64, "precision": "double"},
    "a switch": {"solver": "crsvm", "kernel_type": "linear", "balanced": False},
}


def read(words):
    return parse_arguments([*words, "rows"])[1]


@pytest.mark.parametrize("name", PARAMETERS)
def test_they_are_read_as_the_same(name):
    param = changed(Parameter(), PARAMETERS[name])
    assert flat_fields(read(option_words(param))) == flat_fields(param)


@pytest.mark.parametrize("kind", SvmType)
@pytest.mark.parametrize("kernel", KernelType)
def test_what_counts_is_said(kind, kernel):
    """And nothing else, if all else is default."""
    words = option_words(Parameter(svm_type=kind, kernel_type=kernel))
    letters = {"degree": "-d", "gamma": "-g", "coef0": "-r"}
    own = {
        SvmType.C_SVC: ["-c"],
        SvmType.NU_SVC: ["-n"],
        SvmType.ONE_CLASS: ["-n"],
        SvmType.EPSILON_SVR: ["-c", "-p"],
        SvmType.NU_SVR: ["-c", "-n"],
        SvmType.QUANTILE_SVR: ["-c", "--tau"],
    }
    assert words[::2] == ["-s", "-t", *(letters[name] for name in kernel.uses), *own[kind]]
