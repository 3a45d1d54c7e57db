"""State files: a trained state in full precision.

A file is an npz archive of NumPy (an uncompressed zip archive), readable by numpy.load and unzip:

    "libsvmx-state.json"      {"version": …, "param": …, "next_id": …, "columns": …, "binaries": […]}
    "indptr" int64 (n + 1)   "indices" int32   "values" float64      the rows, as a CsrMatrix
    "targets" float64 (n)    "ids" int64 (n)                         label or target, and id, of each
    "path_ids" int64 (m)     "K_beta" float64 (m)                    of all dual problems, one after the other: the row
    "beta" float64 (m, in regression 2 m)                            at each position of the path, K beta, coefficients
    "sample_weight" float64 (n)                                      if rows have weights
    comment of the archive                                           SHA-256, in hex, of all bytes before it

A row of a precomputed kernel has its serial number at index 0, and at the serial numbers of the rows before it and at
its own the values with them.

"columns" is [number of columns, first index]. binaries[k] is dual problem k: {"pair": its two labels or null, "rows":
number of its rows among the m, "total": sum of beta}. In nu-SVC and nu-SVR "total" is a list of two sums, of beta >= 0
and of beta <= 0, and the version is 2, else 1.

The checksum detects damage, not manipulation, so all contents are checked: members are those above, uncompressed, and
within the file before memory is allocated; the header of an array must equal the one for its length, and is not
evaluated. libsvmx._train.updating.state_record checks the record.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from math import isfinite
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter, changed, flat_fields
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import Pair
from libsvmx._train.updating.state import MOST_ID, AnyState, State
from libsvmx._train.updating.state_record import BinaryRecord, StateRecord, record_of, restored
from libsvmx.exceptions import DataError, FormatError, ParameterError, warn_caller
from libsvmx.io.files import parting, read_bytes
from libsvmx.io.outputs import atomic_write

VERSION = 2  # with two sums of beta; 1: with one
DESCRIPTION = "libsvmx-state.json"
KEYS = {"version", "param", "next_id", "columns", "binaries"}
TYPES = {
    "indptr": "<i8",
    "indices": "<i4",
    "values": "<f8",
    "targets": "<f8",
    "ids": "<i8",
    "path_ids": "<i8",
    "K_beta": "<f8",
    "beta": "<f8",
    "sample_weight": "<f8",  # if rows have weights
}
FILES = [DESCRIPTION, *(f"{name}.npy" for name in TYPES)]
ZIP, AT_NAME = b"PK\x03\x04", 30  # first bytes of an archive, and position of the name of its first member
DIGEST = 64  # bytes of the comment
HEAD = 128  # bytes of the header of an array
UNIX = 3  # written as the creating system, whichever it is, so that equal states give equal bytes


def is_state(path: str) -> bool:
    """Whether a file begins like a state file; False for a pipe, which is not read."""
    try:
        with open(path, "rb") as file:
            return file.seekable() and _begins_well(file.read(AT_NAME + len(DESCRIPTION)))
    except OSError:
        return False


def save_state(path: str, state: State) -> None:
    """Write a state file atomically. Raises OSError."""
    content = state_bytes(state)
    with atomic_write(path) as file:
        file.write(content)


def state_bytes(state: State) -> bytes:
    """The bytes of the file. Raises SvmxError if the state is being changed."""
    record = record_of(state)
    matrix, binaries = record.problem.matrix, record.binaries
    arrays: dict[str, Any] = {
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "values": matrix.values,
        "targets": record.problem.targets,
        "ids": record.ids,
        "path_ids": _joined([binary.ids for binary in binaries]),
        "K_beta": _joined([binary.K_beta for binary in binaries]),
        "beta": _joined([binary.beta for binary in binaries]),
    }
    if record.problem.sample_weight is not None:
        arrays["sample_weight"] = record.problem.sample_weight
    description = {
        "version": record.param.svm_type.groups,
        "param": flat_fields(record.param),
        "next_id": record.next_id,
        "columns": [matrix.n_columns, matrix.first_index],
        "binaries": [
            {"pair": b.pair, "rows": len(b.ids), "total": b.totals if len(b.totals) > 1 else b.totals[0]}
            for b in binaries
        ],
    }
    file = io.BytesIO()
    try:
        with ZipFile(file, "w") as archive:
            _put(archive, DESCRIPTION, json.dumps(description, allow_nan=False).encode("ascii"))
            for name, given in arrays.items():
                values = np.ascontiguousarray(given, dtype=TYPES[name])
                _put(archive, f"{name}.npy", _head(TYPES[name], len(values)), values.view(np.uint8).data)
            archive.comment = bytes(DIGEST)
    except ValueError as error:
        if file.closed:  # memory was out; ZipFile's own error would hide that
            raise MemoryError("a state's file") from error
        raise
    with file.getbuffer() as content:
        content[-DIGEST:] = _digest(content)
    return file.getvalue()


def _joined(arrays: list[Any]) -> Any:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _put(archive: ZipFile, name: str, *parts: bytes | memoryview) -> None:
    """A member without time and system."""
    member = ZipInfo(name)
    member.create_system, member.file_size = UNIX, sum(len(part) for part in parts)
    with archive.open(member, "w") as file:
        for part in parts:
            file.write(part)


def _head(kind: str, length: int) -> bytes:
    """The header of an array in npy format 1.0."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    return b"\x93NUMPY\x01\x00" + (HEAD - 10).to_bytes(2, "little") + text.ljust(HEAD - 11).encode("ascii") + b"\n"


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(memoryview(content)[:-DIGEST]).hexdigest().encode("ascii")


def _begins_well(content: bytes) -> bool:
    return content.startswith(ZIP) and content[AT_NAME : AT_NAME + len(DESCRIPTION)] == DESCRIPTION.encode("ascii")


def load_state(
    path: str,
    kind: type[AnyState],
    observer: Observer | None = None,
    warn: Callable[[str], object] = warn_caller,
    **changes: Any,
) -> AnyState:
    """Read a state file as a state of class ``kind``.

    ``warn`` is told of oddities that are no errors, by default as a Python warning. ``changes``: parameters that do not
    change the optimum, such as ``cache_size`` or ``eps``.

    Raises OSError, and FormatError if anything about it is damaged, missing, contradictory, or of a later version.
    """
    state, remark = state_of_bytes(read_bytes(path), path, kind, observer, **changes), parting(path)
    if remark is not None:
        warn(f"{path}: {remark}")
    return state


def state_of_bytes(
    content: bytes, path: str, kind: type[AnyState], observer: Observer | None = None, **changes: Any
) -> AnyState:
    """The state in the bytes of a file; ``path``: its name in errors. Raises as ``load_state``, except OSError."""
    try:
        record = _record(_members(content), changes)
        return restored(record, observer or Observer(), kind)
    except _Defect as error:
        raise FormatError(path, 0, 0, str(error)) from None
    except DataError as error:
        raise FormatError(path, 0, 0, f"not a state: {error}") from None
    except ParameterError as error:
        raise FormatError(path, 0, 0, f"not a state that can be kept: {error}") from None


class _Defect(ValueError):
    """A defect of a file."""


def _members(content: bytes) -> list[tuple[str, memoryview]]:
    """Names and contents of the members, without copies. Raises _Defect if the checksum does not match."""
    if not _begins_well(content):
        raise _Defect("not a state file")
    if _digest(content) != content[-DIGEST:]:
        raise _Defect("damaged: the checksum does not fit")
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except (BadZipFile, OverflowError, RuntimeError, ValueError) as error:
        raise _Defect(f"not an archive: {error}") from None
    if any(member.compress_type != ZIP_STORED for member in members):
        raise _Defect("a member of the archive is compressed")
    return [(member.filename, _stored(content, member)) for member in members]


def _stored(content: bytes, member: ZipInfo) -> memoryview:
    """The content of a member. Raises _Defect if it exceeds the file."""
    at = member.header_offset + AT_NAME
    lengths = content[at - 4 : at - 2], content[at - 2 : at]  # of the name, and of what stands between it and the data
    at += sum(int.from_bytes(length, "little") for length in lengths)
    data = memoryview(content)[at : at + member.file_size]
    if len(data) != member.file_size:
        raise _Defect(f"the member {member.filename!r} is longer than the file")
    return data


def _record(members: list[tuple[str, memoryview]], changes: dict[str, Any]) -> StateRecord:
    """The record in the members; ``restored`` checks it."""
    try:
        description = json.loads(str(members[0][1], "ascii"))
    except (IndexError, ValueError, RecursionError):
        raise _Defect("the description is not JSON") from None
    version = description.get("version") if isinstance(description, dict) else None
    if type(version) is int and version > VERSION:
        raise _Defect(f"a state file of version {version}; this libsvmx knows versions up to {VERSION}")
    if version not in (1, VERSION) or type(version) is not int or set(description) != KEYS:
        raise _Defect("the description lacks a key, or has one too many")
    given, next_id = description["binaries"], description["next_id"]
    keys = {"pair", "rows", "total"}
    if not isinstance(given, list) or not all(isinstance(b, dict) and set(b) == keys for b in given):
        raise _Defect("the list of dual problems is wrong")
    if type(next_id) is not int or not 0 <= next_id <= MOST_ID:
        raise _Defect(f"the next id is not between 0 and {MOST_ID}")
    arrays = _arrays(members)
    try:
        matrix = _with_columns(CsrMatrix(arrays["indptr"], arrays["indices"], arrays["values"]), description["columns"])
        weights = arrays.get("sample_weight")
        problem = Problem(matrix, arrays["targets"].data, sample_weight=None if weights is None else weights.data)
    except ValueError as error:
        raise _Defect(f"the rows are wrong: {error}") from None
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        raise _Defect("a weight is not finite and >= 0")
    return StateRecord(
        _parameter(description["param"], changes), problem, arrays["ids"], next_id, _binaries(given, arrays, version)
    )


def _binaries(given: list[dict[str, Any]], arrays: dict[str, Any], n_sums: int) -> list[BinaryRecord]:
    """The dual problems, each with its part of the arrays."""
    sizes, m = [binary["rows"] for binary in given], len(arrays["path_ids"])
    if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != m:
        raise _Defect("dual problems have too many or too few rows")
    per_row = 2 if len(arrays["beta"]) == 2 * m else 1
    if len(arrays["K_beta"]) != m or len(arrays["beta"]) != per_row * m:
        raise _Defect("too many or too few coefficients or scores")
    found, at = [], 0
    for binary, size in zip(given, sizes, strict=True):
        of_rows, of_beta = slice(at, at + size), slice(per_row * at, per_row * (at + size))
        parts = arrays["path_ids"][of_rows], arrays["beta"][of_beta], arrays["K_beta"][of_rows]
        found.append(BinaryRecord(_pair(binary["pair"]), *parts, _totals(binary["total"], n_sums)))
        at += size
    return found


def _with_columns(matrix: CsrMatrix, columns: object) -> CsrMatrix:
    """The rows, with the recorded number of columns. Raises _Defect."""
    if not isinstance(columns, list) or [type(number) for number in columns] != [int, int]:
        raise _Defect("the number of columns is wrong")
    n, first = columns
    if not (matrix.n_columns <= n < 2**31 and first in (0, 1)):
        raise _Defect("the number of columns is wrong")
    return CsrMatrix(matrix.indptr, matrix.indices, matrix.values, copy=False, n_columns=n, first_index=first)


def _arrays(members: list[tuple[str, memoryview]]) -> dict[str, Any]:
    """All arrays by name, in native byte order. Raises _Defect unless they are those of a state."""
    if [file for file, _ in members] not in (FILES, FILES[:-1]):
        raise _Defect("the list of arrays is wrong")
    found: dict[str, Any] = {}
    for name, (_, content) in zip(TYPES, members[1:], strict=False):
        dtype = np.dtype(TYPES[name])
        length, rest = divmod(len(content) - HEAD, dtype.itemsize)
        if rest or content[:HEAD] != _head(TYPES[name], length):
            raise _Defect(f"the array {name!r} is described wrongly")
        found[name] = np.frombuffer(content, dtype, offset=HEAD).astype(dtype.newbyteorder("="))
    return found


def _pair(labels: object) -> Pair:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != 2 or any(type(label) is not int for label in labels):
        raise _Defect("labels of a dual problem are not two whole numbers")
    return labels[0], labels[1]


def _totals(given: object, n_sums: int) -> tuple[float, ...]:
    totals = given if n_sums > 1 else [given]
    if not isinstance(totals, list) or len(totals) != n_sums:
        raise _Defect(f"there are not {n_sums} sums of coefficients")
    if any(type(total) not in (int, float) or not isfinite(total) for total in totals):
        raise _Defect("a sum of coefficients is not a finite number")
    return tuple(float(total) for total in totals)


def _parameter(given: object, changes: dict[str, Any]) -> Parameter:
    try:
        if not isinstance(given, dict):
            raise ValueError("they are no object")
        param = changed(Parameter(), given)  # as they are in the file
        if set(flat_fields(param)) != set(given):
            raise ValueError("they lack one")
    except (ParameterError, TypeError, ValueError, OverflowError) as error:
        raise _Defect(f"the parameters are wrong: {error}") from None
    return changed(param, changes)
