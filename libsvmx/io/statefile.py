"""State files: a trained state that rows can join and leave, with all digits, to go on from later.

    libsvmx state 1 <bytes of the description> <bytes of the file>       a line of ASCII
    {"param": …, "next_id": …, "binaries": […], "arrays": […]}          the description, JSON, and a line feed
    …                                                                   arrays, little-endian, one after the other
    SHA-256 of all bytes before it                                      32 bytes

``arrays`` lists [name, type, length, offset from the first array, in bytes]; they come in this order:

    "indptr" int64 (n + 1)   "indices" int32   "values" float64      the rows, as a CsrMatrix
    "targets" float64 (n)    "ids" int64 (n)                         label or target, and id, of each
    "sample_weight" float64 (n)                                      in version 2, which files with weights are
    "ids k" int64 (m)    "beta k" float64 (m, in regression 2 m)    "K_beta k" float64 (m)

The description has "columns" as well, [columns of the rows, index of the first], where entries do not tell.

The last line is binary problem k: the row at each position of its path, its coefficients and K beta. binaries[k] is
{"pair": its two labels or null, "total": sum of beta}.

What a record must fulfil is checked in libsvmx._train.updating.restore.
"""

from __future__ import annotations

import hashlib
import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import fields
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter, changed, flat_fields
from libsvmx._train.problem import Problem
from libsvmx._train.updating.restore import BinaryRecord, StateRecord, record_of, restored
from libsvmx._train.updating.state import MOST_ID
from libsvmx.exceptions import DataError, FormatError, ParameterError
from libsvmx.io.files import atomic_write, read_bytes

if TYPE_CHECKING:
    from libsvmx._train.updating.binary_problem import Pair
    from libsvmx._train.updating.state import AnyState, State

MAGIC = b"libsvmx state "
VERSION = 2  # of files with weights of rows; those without are of version 1
LONGEST_LINE = 80  # the first one
DIGEST_BYTES = 32
TYPES = {"indptr": "<i8", "indices": "<i4", "values": "<f8", "targets": "<f8", "ids": "<i8"}
WEIGHTS, WEIGHT_TYPE = "sample_weight", "<f8"
BINARY_TYPES = {"ids": "<i8", "beta": "<f8", "K_beta": "<f8"}


def is_state(path: str) -> bool:
    """Whether a file begins like a state file, as far as that can be told without reading a pipe."""
    try:
        with open(path, "rb") as file:
            return file.seekable() and file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def save_state(path: str, state: State) -> None:
    """Write a state file, whole or not at all. Raises OSError."""
    content = state_bytes(state)
    with atomic_write(path) as file:
        file.write(content)


def state_bytes(state: State) -> bytes:
    """The bytes of the file. Raises SvmxError if the state is being changed."""
    record = record_of(state)
    matrix = record.problem.matrix
    arrays: dict[str, tuple[str, Any]] = {
        "indptr": (TYPES["indptr"], matrix.indptr),
        "indices": (TYPES["indices"], matrix.indices),
        "values": (TYPES["values"], matrix.values),
        "targets": (TYPES["targets"], record.problem.targets),
        "ids": (TYPES["ids"], record.ids),
    }
    if record.problem.sample_weight is not None:
        arrays[WEIGHTS] = WEIGHT_TYPE, record.problem.sample_weight
    for k, binary in enumerate(record.binaries):
        for name, kind in BINARY_TYPES.items():
            arrays[f"{name} {k}"] = kind, getattr(binary, name)
    table, blocks, offset = [], [], 0
    for name, (kind, values) in arrays.items():
        block = np.asarray(values).astype(kind).tobytes()
        table.append([name, kind, len(values), offset])
        blocks.append(block)
        offset += len(block)
    param = flat_fields(record.param)
    description = {
        "param": param,
        "next_id": record.next_id,
        "binaries": [{"pair": binary.pair, "total": binary.total} for binary in record.binaries],
        "arrays": table,
    }
    if (matrix.n_columns, matrix.first_index) != _told_by_entries(matrix):
        description["columns"] = [matrix.n_columns, matrix.first_index]
    text = json.dumps(description, allow_nan=False).encode("ascii") + b"\n"
    line = _first_line(len(text), offset, VERSION if WEIGHTS in arrays else 1)
    content = b"".join([line, text, *blocks])
    return content + hashlib.sha256(content).digest()


def _first_line(text_bytes: int, array_bytes: int, version: int = 1) -> bytes:
    """The first line, which holds the length of the file, and so its own."""
    size = text_bytes + array_bytes + DIGEST_BYTES
    while True:
        line = MAGIC + f"{version} {text_bytes} {size}\n".encode("ascii")
        if size == len(line) + text_bytes + array_bytes + DIGEST_BYTES:
            return line
        size = len(line) + text_bytes + array_bytes + DIGEST_BYTES


def load_state(path: str, kind: type[AnyState], observer: Observer | None = None, **changes: Any) -> AnyState:
    """Read a state file, into a state of class ``kind``.

    ``changes``: parameters that do not change the optimum, such as ``cache_size`` or ``eps``.

    Raises
    ------
    OSError          it cannot be read
    FormatError      anything about it is damaged, missing, contradictory, or of a later version
    """
    return state_of_bytes(read_bytes(path), path, kind, observer, **changes)


def state_of_bytes(
    content: bytes, path: str, kind: type[AnyState], observer: Observer | None = None, **changes: Any
) -> AnyState:
    """The state in the bytes of a file; ``path`` is what an error calls it. Raises as ``load_state``, but OSError."""
    try:
        record = _record(*_checked(content), changes)
        return restored(record, observer or Observer(), kind)
    except _Defect as error:
        raise FormatError(path, 0, 0, str(error)) from None
    except DataError as error:
        raise FormatError(path, 0, 0, f"not a state: {error}") from None
    except ParameterError as error:
        raise FormatError(path, 0, 0, f"not a state that can be kept: {error}") from None


class _Defect(ValueError):
    """What is wrong with a file."""


def _checked(content: bytes) -> tuple[int, bytes, memoryview]:
    """The version, the description and the bytes of the arrays. Raises _Defect unless the bytes are those that were
    written."""
    if not content.startswith(MAGIC):
        raise _Defect("not a state file")
    line, found, _ = content[:LONGEST_LINE].partition(b"\n")
    words = line[len(MAGIC) :].split(b" ")
    if not all(word.isdigit() for word in words) or not found:
        raise _Defect("damaged: the first line of a state file is wrong")
    if int(words[0]) > VERSION:
        raise _Defect(f"a state file of version {int(words[0])}; this libsvmx knows versions up to {VERSION}")
    if int(words[0]) < 1 or len(words) != 3:
        raise _Defect("damaged: the first line of a state file is wrong")
    text_bytes, size = int(words[1]), int(words[2])
    if size != len(content):
        raise _Defect(f"damaged: {len(content)} bytes where there should be {size}")
    begin, end = len(line) + 1, len(content) - DIGEST_BYTES
    if begin + text_bytes > end:
        raise _Defect("damaged: the first line of a state file is wrong")
    if hashlib.sha256(memoryview(content)[:end]).digest() != content[end:]:
        raise _Defect("damaged: the checksum does not fit")
    return int(words[0]), content[begin : begin + text_bytes], memoryview(content)[begin + text_bytes : end]


def _record(version: int, text: bytes, data: memoryview, changes: dict[str, Any]) -> StateRecord:
    """What description and arrays say; whether it is a state is another question."""
    try:
        description = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError):
        raise _Defect("the description is not JSON") from None
    keys = {"param", "next_id", "binaries", "arrays"}
    if not isinstance(description, dict) or set(description) - {"columns"} != keys:
        raise _Defect("the description lacks a key, or has one too many")
    given, next_id = description["binaries"], description["next_id"]
    if not isinstance(given, list) or not all(isinstance(b, dict) and set(b) == {"pair", "total"} for b in given):
        raise _Defect("the list of dual problems is wrong")
    if type(next_id) is not int or not 0 <= next_id <= MOST_ID:
        raise _Defect(f"the next id is not between 0 and {MOST_ID}")
    kinds = TYPES | ({WEIGHTS: WEIGHT_TYPE} if version > 1 else {})
    for k in range(len(given)):
        kinds.update({f"{name} {k}": kind for name, kind in BINARY_TYPES.items()})
    arrays = _arrays(description["arrays"], kinds, data)
    try:
        matrix = CsrMatrix(arrays["indptr"], arrays["indices"], arrays["values"])
        if "columns" in description:
            matrix = _with_columns(matrix, description["columns"])
        weights = arrays.get(WEIGHTS)
        problem = Problem(matrix, arrays["targets"].data, sample_weight=None if weights is None else weights.data)
    except ValueError as error:
        raise _Defect(f"the rows are wrong: {error}") from None
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        raise _Defect("a weight is not finite and >= 0")
    binaries = [
        BinaryRecord(
            _pair(binary["pair"]), arrays[f"ids {k}"], arrays[f"beta {k}"], arrays[f"K_beta {k}"], _total(binary)
        )
        for k, binary in enumerate(given)
    ]
    return StateRecord(_parameter(description["param"], changes), problem, arrays["ids"], next_id, binaries)


def _told_by_entries(matrix: CsrMatrix) -> tuple[int, int]:
    """Columns and first index of rows of which nothing but the entries is known."""
    plain = CsrMatrix(matrix.indptr, matrix.indices, matrix.values, copy=False)
    return plain.n_columns, plain.first_index


def _with_columns(matrix: CsrMatrix, columns: object) -> CsrMatrix:
    """The rows with columns that the entries do not tell. Raises _Defect."""
    if not isinstance(columns, list) or [type(number) for number in columns] != [int, int]:
        raise _Defect("the number of columns is wrong")
    n, first = columns
    if not (matrix.n_columns <= n < 2**31 and first in (0, 1)):
        raise _Defect("the number of columns is wrong")
    return CsrMatrix(matrix.indptr, matrix.indices, matrix.values, copy=False, n_columns=n, first_index=first)


def _arrays(table: object, kinds: dict[str, str], data: memoryview) -> dict[str, Any]:
    """All arrays by name, in the machine's own types. Raises _Defect unless they fill ``data``, in the usual order."""
    if not isinstance(table, list) or [entry[:1] if isinstance(entry, list) else 0 for entry in table] != [
        [name] for name in kinds
    ]:
        raise _Defect("the list of arrays is wrong")
    found: dict[str, Any] = {}
    at = 0
    for name, *rest in table:
        kind = np.dtype(kinds[name])
        if len(rest) != 3 or rest[0] != kinds[name] or type(rest[1]) is not int or rest[1] < 0 or rest[2] != at:
            raise _Defect(f"the array {name!r} is described wrongly")
        end = at + rest[1] * kind.itemsize
        if end > len(data):
            raise _Defect(f"the array {name!r} is longer than the file")
        found[name] = np.frombuffer(data[at:end], dtype=kind).astype(kind.newbyteorder("="))
        at = end
    if at != len(data):
        raise _Defect("there are bytes behind the last array")
    return found


def _pair(labels: object) -> Pair:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != 2 or any(type(label) is not int for label in labels):
        raise _Defect("labels of a dual problem are not two whole numbers")
    return labels[0], labels[1]


def _total(binary: dict[str, Any]) -> float:
    if type(binary["total"]) not in (int, float) or not isfinite(binary["total"]):
        raise _Defect("a sum of coefficients is not a finite number")
    return float(binary["total"])


def _parameter(given: object, changes: dict[str, Any]) -> Parameter:
    try:
        if not isinstance(given, dict) or not {f.name for f in fields(Parameter)} <= set(given):
            raise ValueError("they lack one")
        param = changed(Parameter(), given)  # as they are in the file
        if set(flat_fields(param)) != set(given):
            raise ValueError("they lack one")
    except (ParameterError, TypeError, ValueError, OverflowError) as error:
        raise _Defect(f"the parameters are wrong: {error}") from None
    return changed(param, changes)
