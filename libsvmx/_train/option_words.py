"""A Parameter as options of svmx-train."""

from __future__ import annotations

from libsvmx._train.parameter import Parameter
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from typing import Any

OF_KERNELS = {"degree": "-d", "gamma": "-g", "coef0": "-r"}
# Options written if they differ from the default.
GENERAL = {
    "cache_size": "-m",
    "eps": "-e",
    "shrinking": "-h",
    "probability": "-b",
    "max_iter": "--max-iter",
    "time_limit": "--time-limit",
    "threads": "--threads",
}


def option_words(param: Parameter) -> list[str]:
    """Options and their values, a word each, with which svmx-train makes the same training.

    Values used by the formulation and the kernel are always written, others if they differ from the default.
    """
    kind, kernel, usual = param.svm_type, param.kernel_type, Parameter()
    words = ["-s", kind.option, "-t", kernel.option]
    for name in kernel.uses:
        value, gammas = getattr(param, name), param.gammas if name == "gamma" else ()
        words += [OF_KERNELS[name], ",".join(text(value * each) for each in gammas) or text(value)]
    words += ["-c", text(param.C)] if kind.has_cost else []
    words += ["-n", text(param.nu)] if kind.has_nu else []
    words += ["-p", text(param.p)] if kind == SvmType.EPSILON_SVR else []
    words += ["--tau", text(param.tau)] if kind == SvmType.QUANTILE_SVR else []
    for name, option in GENERAL.items():
        if getattr(param, name) != getattr(usual, name):
            words += [option, text(getattr(param, name))]
    for label, factor in param.weights:
        words += [f"-w{label}", text(factor)]
    if param.solver.name != usual.solver.name:
        words += ["--solver", param.solver.name]
    for known in param.solver.settings():
        value = getattr(param.solver, known.name)
        if known.option and value != known.default:
            words += [known.option] if known.kind is bool else [known.option, text(value)]
    return words


def text(value: Any) -> str:
    """A value as the text of an option, with all digits of a number."""
    return f"{int(value)}" if isinstance(value, bool) else f"{value}".removesuffix(".0")
