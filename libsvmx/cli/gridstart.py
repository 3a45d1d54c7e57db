"""The next warm start of a grid column in a file, verified as a whole before use.

libsvmx start 1 <bytes of the description>          a line of ASCII
{"run": …, "order": …, "key": [C, gamma], "folds": [[[i, j, C, bytes of beta, bytes of scores], …], …]}
beta and scores of each fold and pair of classes in turn: float64 in native byte order
SHA-256 of all bytes before it                      32 bytes
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from math import isfinite
from typing import Any

from libsvmx._train.validation.cross_validation import FoldWarmStarts
from libsvmx._train.validation.dual_folds import OptimumAtC
from libsvmx._train.validation.grid import Key

MAGIC = b"libsvmx start 1 "
LONGEST_LINE = 40
DIGEST_BYTES = 32


def start_bytes(run: str, key: Key, folds: FoldWarmStarts) -> bytes:
    """The file of a column: ``key`` is its last finished point, ``run`` identifies the search."""
    table = [[[i, j, w.C, len(w.beta), len(w.scores)] for (i, j), w in fold.items()] for fold in folds]
    text = json.dumps({"run": run, "order": sys.byteorder, "key": key, "folds": table}).encode() + b"\n"
    arrays = [part for fold in folds for w in fold.values() for part in (w.beta, w.scores)]
    content = b"".join([MAGIC, b"%d\n" % len(text), text, *arrays])
    return content + sha256(content).digest()


def read_start(content: bytes, run: str) -> tuple[Key, FoldWarmStarts] | None:
    """The key and the warm starts of a column, None if it is of another run. Raises ValueError for a damaged file."""
    line = content[:LONGEST_LINE].split(b"\n")[0]
    if not line.startswith(MAGIC) or sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
        raise ValueError("damaged, or of another version")
    begin = len(line) + 1
    at = begin + int(line[len(MAGIC) :])
    try:
        return _described(json.loads(content[begin:at]), memoryview(content)[at:-DIGEST_BYTES], run)
    except (TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"its description is wrong: {error}") from None


def _described(described: Any, arrays: memoryview, run: str) -> tuple[Key, FoldWarmStarts] | None:
    """The warm starts described by ``folds`` in the bytes of the arrays."""
    if described["run"] != run or described["order"] != sys.byteorder:
        return None
    folds: FoldWarmStarts = []
    at = 0
    for fold in described["folds"]:
        folds.append({})
        for i, j, C, *sizes in fold:
            if len(sizes) != 2 or min(sizes) < 0:
                raise ValueError("its arrays have other sizes")
            beta, scores = (bytes(arrays[at : at + sizes[0]]), bytes(arrays[at + sizes[0] : at + sum(sizes)]))
            at += sum(sizes)
            if not all(isfinite(number) for part in (beta, scores) for number in memoryview(part).cast("d")):
                raise ValueError("a number is not finite")
            folds[-1][int(i), int(j)] = OptimumAtC(positive(C), beta, scores)
    if at != len(arrays):
        raise ValueError("its arrays have other sizes")
    C, gamma = described["key"]
    return (C, gamma), folds


def positive(value: Any) -> float:
    """Raises ValueError unless the number is finite and positive."""
    if not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ValueError("C is not positive")
    return float(value)
