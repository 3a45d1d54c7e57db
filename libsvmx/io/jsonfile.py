"""Models as JSON, for programs that read no model files of LIBSVM: docs/compress.md has the fields.

Numbers have as many digits as give the same double again, where model files keep 8 of each value.
"""

from __future__ import annotations

import json

from libsvmx._train.gamma import feature_factors
from libsvmx._typing import TYPE_CHECKING
from libsvmx.io.modelfile import SVM_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._train.model import Model

FORMAT = "libsvmx model"
VERSION, WITH_FACTORS = 1, 2  # a reader that knows no factors has to refuse the file


def json_pieces(model: Model, n_features: int) -> Iterator[str]:
    """The text of the file: a line for each field, and for each vector."""
    p, n = model.param, model.n_sv
    fields = {
        "format": FORMAT,
        "version": WITH_FACTORS if p.gammas else VERSION,
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
