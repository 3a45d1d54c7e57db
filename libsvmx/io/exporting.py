"""Models for where there is no libsvmx: JSON here, C in cfile, ONNX in onnxfile."""

from __future__ import annotations

import os
from math import isfinite

from libsvmx._train.gamma import feature_factors
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.outputs import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from libsvmx._train.model import Model

FORMATS = ("c", "json", "onnx")
DTYPES = ("float64", "float32")
# An int in C counts one further.
MOST_FEATURES = 2**31 - 2
LEAST_FLOAT = 2.0**-126  # with all its digits


def format_of(path: str) -> str:
    """The format that a file of this name has, C unless it ends with another one."""
    ending = os.path.splitext(path)[1][1:].lower()
    return ending if ending in FORMATS else "c"


def check_format(format: str, dtype: str, name: str) -> None:
    """Raises ParameterError for what there is not."""
    for what, given, known in (("format", format, FORMATS), ("dtype", dtype, DTYPES)):
        if given not in known:
            from libsvmx._core.suggestions import unknown

            raise ParameterError(unknown(what, given, known))
    if format == "json" and dtype != "float64":
        raise ParameterError("format 'json' has decimal numbers, as of float64")
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise ParameterError(f"name must be one that functions of C can begin with, not {name!r}")


def export_model(
    model: Model, path: str, format: str, dtype: str = "float64", name: str = "model", n_features: int | None = None
) -> None:
    """See ``libsvmx.export``."""
    check_format(format, dtype, name)
    if model.param.kernel_type == KernelType.PRECOMPUTED:
        raise ParameterError("a model of a precomputed kernel has no vectors, and cannot be exported")
    n_gammas = len(model.param.gammas)
    least, most = (n_gammas, n_gammas) if n_gammas else (model.n_features, MOST_FEATURES)
    if least > MOST_FEATURES:
        raise DataError(f"the model has {least} features, a row of numbers may have {MOST_FEATURES}")
    width = least if n_features is None else n_features
    if not least <= width <= most:
        raise ParameterError(f"n_features must be between {least}, those of the model, and {most}, not {width}")
    numbers = (model.coef, model.offsets, model.vectors.values)
    if not all(all(map(isfinite, values)) for values in numbers):
        raise DataError("the model has numbers that are not finite")
    if dtype == "float32":
        check_floats(model)
    content: Iterable[bytes]
    if format == "onnx":
        from libsvmx.io.onnxfile import onnx_bytes

        content = [onnx_bytes(model, width, dtype)]
    elif format == "json":
        content = (piece.encode() for piece in json_pieces(model, width))
    else:
        from libsvmx.io.cfile import CFile

        content = (piece.encode() for piece in CFile(model, name, width, dtype == "float32").pieces())
    with atomic_write(path) as file:
        for piece in content:
            file.write(piece)


def check_floats(model: Model) -> None:
    """Raises DataError where as floats the numbers of a model would be 0 or lose digits, on which all others hang."""
    largest = max(map(abs, model.coef), default=0.0)
    factors = [("a factor of gamma", factor) for factor in (feature_factors(model.param) if model.param.gammas else ())]
    for what, value in (("gamma", model.param.gamma), *factors, ("the largest coefficient", largest)):
        if 0 < value < LEAST_FLOAT:
            raise DataError(f"{what}, {value:g}, is too small for a float")


def json_pieces(model: Model, n_features: int) -> Iterator[str]:
    """A model as JSON, for programs that read no model files of LIBSVM: docs/compress.md has the fields.

    A line for each field, and for each vector. Numbers have as many digits as give the same double again, where model
    files keep 8 of each value.
    """
    import json

    from libsvmx.io.modelfile import SVM_NAMES

    p, n = model.param, model.n_sv
    fields = {
        "format": "libsvmx model",
        "version": 2 if p.gammas else 1,  # a reader that knows no factors has to refuse the file
        "svm_type": SVM_NAMES[p.svm_type],
        "kernel": {"type": p.kernel_type.keyword, **{name: getattr(p, name) for name in p.kernel_type.uses}},
        "n_features": n_features,
        "first_index": model.vectors.first_index,
        "factors": feature_factors(p).tolist() if p.gammas else None,
        "labels": model.class_labels,
        "vectors_of_class": model.class_sv,
        "rho": list(model.offsets),
        "prob_a": model.sigmoid_a and list(model.sigmoid_a),
        "prob_b": model.sigmoid_b and list(model.sigmoid_b),
        "density_marks": model.marks and list(model.marks),
        "coef": [list(model.coef[row * n : (row + 1) * n]) for row in range(model.nr_class - 1)],
    }
    yield "{\n"
    for name, value in fields.items():
        if value is not None:
            yield f"{json.dumps(name)}: {json.dumps(value)},\n"
    yield '"support_vectors": ['
    for i in range(n):
        yield f"{',' if i else ''}\n{json.dumps(model.vectors.row(i))}"
    yield "\n]\n}\n"
