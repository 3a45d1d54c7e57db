"""LIBSVM in a child process, as wild files may crash it."""

import os
import re
from pathlib import Path

import numpy as np

from support import oracle

NOT_FINITE = re.compile(rb"(?<![A-Za-z_])-?(nan|inf)(?![A-Za-z_])")


def of_libsvm(work):
    """The bytes of ``work()`` in a child. None if LIBSVM crashes or gives up, or writes non-finite values."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(out)
            os.dup2(os.open("complaints", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            with os.fdopen(into, "wb") as file:
                file.write(work())
            code = 0
        finally:
            os._exit(code)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    usable = status == 0 and found and not NOT_FINITE.search(found)
    return found if usable and b"reaching max" not in Path("complaints").read_bytes() else None


def decisions(model, rows):
    labels, values = oracle.predict(model, rows)
    return np.array([[label, *value] for label, value in zip(labels, values, strict=True)]).tobytes()


def estimates(model, rows):
    return np.array(oracle.predict_probability(model, rows)[1]).tobytes()
