"""The next warm start of a grid column in a file, verified as a whole before use.

libsvmx start 2 <bytes of the description>          a line of ASCII
{"run": …, "order": …, "key": [C, gamma], "kernel": {…}, "C": …, "folds": [[[i, j, variables], …], …]}
beta and K beta of each fold and pair of classes in turn: float64 in native byte order
SHA-256 of all bytes before it                      32 bytes
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any

from libsvmx._train.validation.grid import Key

if TYPE_CHECKING:
    from libsvmx._train.warm_start import KnownOptima

MAGIC = b"libsvmx start 2 "
LONGEST_LINE = 40
DIGEST_BYTES = 32


def start_bytes(run: str, key: Key, folds: list[KnownOptima]) -> bytes:
    """The file of a column: ``key`` is its last finished point, ``run`` identifies the search."""
    described = {"run": run, "order": sys.byteorder, "key": key, "kernel": folds[0].kernel, "C": folds[0].C}
    described["folds"] = [[[*pair, len(known.beta)] for pair, known in fold.optima.items()] for fold in folds]
    text = json.dumps(described).encode() + b"\n"
    arrays = [part.tobytes() for fold in folds for known in fold.optima.values() for part in known]
    content = b"".join([MAGIC, b"%d\n" % len(text), text, *arrays])
    return content + sha256(content).digest()


def read_start(content: bytes, run: str) -> tuple[Key, list[KnownOptima]] | None:
    """The key and the warm starts of a column, None if it is of another run. Raises ValueError for a damaged file."""
    line = content[:LONGEST_LINE].split(b"\n")[0]
    if not line.startswith(MAGIC) or sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
        raise ValueError("damaged, or of another version")
    begin = len(line) + 1
    at = begin + int(line[len(MAGIC) :])
    try:
        return _described(json.loads(content[begin:at]), content[at:-DIGEST_BYTES], run)
    except (TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"its description is wrong: {error}") from None


def _described(described: Any, arrays: bytes, run: str) -> tuple[Key, list[KnownOptima]] | None:
    """The warm starts described by ``folds`` in the bytes of the arrays."""
    if described["run"] != run or described["order"] != sys.byteorder:
        return None
    import numpy as np

    from libsvmx._train.warm_start import KnownOptima, KnownOptimum

    numbers, cost, at = np.frombuffer(arrays), positive(described["C"]), 0
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    folds = []
    for fold in described["folds"]:
        folds.append(KnownOptima(described["kernel"], cost, {}))
        for i, j, size in fold:
            if not 0 <= at <= at + 2 * size <= len(numbers):
                raise ValueError("its arrays have other sizes")
            folds[-1].optima[int(i), int(j)] = KnownOptimum(*numbers[at : at + 2 * size].reshape(2, size))
            at += 2 * size
    if at != len(numbers):
        raise ValueError("its arrays have other sizes")
    C, gamma = described["key"]
    return (C, gamma), folds


def positive(value: Any) -> float:
    """Raises ValueError unless the number is finite and positive."""
    if not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ValueError("C is not positive")
    return float(value)
