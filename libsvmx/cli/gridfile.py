"""The results file of a grid search, in grid.py's format: either program can resume the other's search.

    # svmx-grid {"data": "sha256:…", "folds": 5, …}      data and options of the points below
    # iterations=1234 seconds=0.5 scc=0.7                details of the next point
    log2c=1.0 log2g=-3.0 rate=80.0

grid.py skips lines that start with #. Each point is added by one synced write, so a killed run leaves at most an
incomplete last line. The folder ``<file>.state`` keeps the next warm start of each column of the grid, verified as a
whole before use:

    libsvmx start 2 <bytes of the description>          a line of ASCII
    {"run": …, "order": …, "key": [C, gamma], "kernel": {…}, "C": …, "folds": [[[i, j, variables], …], …]}
    beta and K beta of each fold and pair of classes in turn: float64 in native byte order
    SHA-256 of all bytes before it                      32 bytes
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from math import inf, isfinite
from typing import IO, TYPE_CHECKING, Any, cast

from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.validation.grid import Key, Outcome, Point
from libsvmx._typing import Buffer
from libsvmx.exceptions import FormatError, SvmxError
from libsvmx.io.files import STANDARD_OUTPUT
from libsvmx.io.outputs import atomic_write, lock, name_of_output

if TYPE_CHECKING:
    from libsvmx._train.warm_start import KnownOptima

RUN = "# svmx-grid "
NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)"
POINT = re.compile(rf"(?:log2c={NUMBER}\s+)?(?:log2g={NUMBER}\s+)?rate={NUMBER}\s*")
DETAIL = re.compile(rf"(iterations|seconds|scc)={NUMBER}(?:\s|$)")

# Points with the same values here are comparable; the rest of a description decides whether chains can be continued.
MUST_AGREE = ("data", "folds", "seeder", "parameters")

Description = Mapping[str, Any]


@dataclass(slots=True)
class Results:
    """The content of a results file, and a ``Done`` for the search that resumes it.

    Attributes
    ----------
    found : dict of Key to Point      in file order; of equal keys the last
    foreign : set of Key              points of a run with another description, or of grid.py
    remarks : list of str
    whole : int                       bytes up to the end of the last complete line
    continued : bool                  whether the last run of the file has this description
    """

    found: dict[Key, Point] = field(default_factory=dict)
    foreign: set[Key] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)
    whole: int = 0
    continued: bool = False
    states: States | None = None

    def points(self) -> Mapping[Key, Point]:
        return self.found

    def given(self) -> Collection[Key]:
        return self.foreign

    def warm_start(self, g: float | None) -> tuple[Key, object] | None:
        return self.states.load(g) if self.states else None


def read_results(path: str, description: Description, axes: tuple[bool, bool], regression: bool) -> Results:
    """Read a results file to resume.

    Parameters
    ----------
    path : str
    description : mapping      of the resuming run
    axes : (bool, bool)        whether C and gamma are searched
    regression : bool          rates are errors, not percentages

    Raises
    ------
    OSError
    FormatError                not a results file, or one of other data, options or axes
    """
    with open(path, "rb") as file:
        content = file.read()
    results = Results(whole=content.rfind(b"\n") + 1)
    own, named, details, anonymous, skipped = False, False, {}, False, []
    for number, line in enumerate(content[: results.whole].decode("utf-8", "replace").splitlines(), 1):
        if line.startswith(RUN):
            own, named = _compare(path, number, line[len(RUN) :], description), True
            results.continued = own
            continue
        if line.startswith("#"):
            details = dict(DETAIL.findall(line))
            continue
        match = POINT.fullmatch(line)
        if match is None:
            skipped += [number] if line.strip() else []
            continue
        key = (_number(match[1]), _number(match[2]))
        if (key[0] is not None, key[1] is not None) != axes:
            raise FormatError(path, number, 0, "the points are of a search over other axes (-log2c, -log2g)")
        if any(value is not None and not -1074 <= value < 1024 for value in key):
            raise FormatError(path, number, 0, "log2c and log2g are of numbers beyond double precision")
        point = _point(key, match[3], details)
        if point.rate < 0:
            raise FormatError(path, number, 0, f"a rate of {point.rate:g} is neither an accuracy nor an error")
        if not regression and point.rate > 100:
            raise FormatError(path, number, 0, f"a rate of {point.rate:g} is not an accuracy in percent")
        results.found.pop(key, None)
        results.found[key] = point
        (results.foreign.discard if own else results.foreign.add)(key)
        anonymous |= not named
        details = {}
    if skipped and not results.found:
        raise FormatError(path, skipped[0], 0, "not a line of a results file (log2c=… log2g=… rate=…)")
    if skipped:
        results.remarks.append(f"{path}:{skipped[0]}: {len(skipped)} line(s) that are no results are skipped")
    if results.whole < len(content):
        results.remarks.append(f"{path}: its last line is incomplete and is dropped")
    if anonymous:
        results.remarks.append(f"{path} does not say of which data and options its points are; they are believed")
    return results


def _compare(path: str, number: int, text: str, description: Description) -> bool:
    """Whether ``text`` is this description. Raises FormatError if points of the two are not comparable."""
    try:
        other = json.loads(text)
        there = {name: other[name] for name in MUST_AGREE}
        if isinstance(there["parameters"], dict):  # recorded points were finished, whatever the limit
            there["parameters"] = {name: v for name, v in there["parameters"].items() if name != "time_limit"}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(path, number, 0, "damaged description of a run") from None
    if there["data"] != description["data"]:
        raise FormatError(path, number, 0, "the points were computed from other data; choose another -out or -resume")
    for name in MUST_AGREE[1:]:
        if there[name] != description[name]:
            raise FormatError(
                path, number, 0, f"the points were computed with other options: {_difference(name, there, description)}"
            )
    return bool(other == description)


def _difference(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name != "parameters":
        return f"{name} was {there[name]}, now {here[name]}"
    before, now = there[name], here[name]
    if not isinstance(before, dict):
        return name
    usual = "as usual"  # each solver has settings of its own
    names = [n for n in {**before, **now} if before.get(n, usual) != now.get(n, usual)]
    return ", ".join(f"{n} was {before.get(n, usual)}, now {now.get(n, usual)}" for n in names)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _point(key: Key, rate: str, details: Mapping[str, str]) -> Point:
    iterations = _number(details.get("iterations"))
    return Point(
        *key,
        float(rate),
        _number(details.get("scc")),
        _number(details.get("seconds")),
        int(iterations) if iterations is not None and isfinite(iterations) else None,
    )


def plain(value: float) -> str:
    """``str(value)`` without an exponent, which grid.py does not read."""
    text = str(value)
    return format(Decimal(text), "f") if "e" in text else text


def point_lines(point: Point) -> str:
    """The two lines of a point."""
    names = ("iterations", "seconds", "scc")
    known = [f"{name}={value}" for name in names if (value := getattr(point, name)) is not None]
    words = [f"{name}={plain(value)}" for name in ("log2c", "log2g") if (value := getattr(point, name)) is not None]
    return f"# {' '.join(known)}\n{' '.join(words)} rate={plain(point.rate)}\n"


class ResultsFile:
    """ResultsFile(path, description, keep): a results file being written. A context manager.

    Parameters
    ----------
    path : str
    description : mapping
    keep : bool              append after byte ``whole``; False: a new file
    described : bool         whether its last run already has this description

    Raises
    ------
    OSError
    SvmxError                another search is writing to it
    """

    def __init__(
        self, path: str, description: Description, keep: bool, whole: int = 0, described: bool = False
    ) -> None:
        self.path = path
        header = "" if keep and described else f"{RUN}{json.dumps(dict(description))}\n"
        self.regular = path != STANDARD_OUTPUT and (not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode))
        if self.regular and os.path.exists(path):
            with open(path, "rb") as old:
                self._lock(old, path)
        if self.regular and not keep:  # atomically: a kill leaves the old file
            with atomic_write(path) as file:
                file.write(header.encode())
            header = ""
        append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.dup(1) if path == STANDARD_OUTPUT else os.open(path, append, 0o666)
        self.file = os.fdopen(descriptor, "ab", buffering=0)
        try:
            if self.regular:
                self._lock(self.file, path)
                if keep:
                    self.file.truncate(whole)
            self._write(header)
        except BaseException:
            self.file.close()
            raise

    @staticmethod
    def _lock(file: IO[bytes], path: str) -> None:
        if lock(file.fileno(), wait=False) is False:  # None where the file system has no locks
            raise SvmxError(f"{path}: another search is writing to it")

    def add(self, point: Point) -> None:
        """Write and sync a point. Raises OSError, with the file as before."""
        self._write(point_lines(point))

    def _write(self, text: str) -> None:
        content = text.encode()
        if not content:
            return
        try:
            end = self.file.seek(0, os.SEEK_END) if self.regular else 0
            written = self.file.write(content)
            if written != len(content):  # a disk that fills up
                self.file.write(content[written:])
            if self.regular:
                os.fsync(self.file.fileno())
        except OSError as error:
            error.filename = name_of_output(self.path)
            if self.regular:
                with suppress(OSError):
                    self.file.truncate(end)
            raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()


SUFFIX = ".start"
UNFINISHED = re.compile(rf"\..*{re.escape(SUFFIX)}\.\d+\.\d+\.\d+\.tmp")  # temporary files of a killed atomic_write


class States:
    """States(folder, description, remark, min_recompute_seconds=inf): warm starts of columns, one file each, for a
    resumed search, which would else compute the lower points of a column again. Without a folder, "", none are kept.

    ``remark`` is called with a message for each unusable file; ``min_recompute_seconds``: see ``KernelPolicy``.
    """

    def __init__(
        self, folder: str, description: Description, remark: Callable[[str], object], min_recompute_seconds: float = inf
    ) -> None:
        self.folder, self.min_recompute_seconds = folder, min_recompute_seconds
        self.run = sha256(json.dumps(dict(description)).encode()).hexdigest()
        self.unsaved: dict[float | None, float] = {}
        self.remark = remark

    def _path(self, g: float | None) -> str:
        return os.path.join(self.folder, f"{'all' if g is None else float(g)}{SUFFIX}")

    def load(self, g: float | None) -> tuple[Key, object] | None:
        """The saved start of a column; None without a readable one of this run."""
        try:
            with open(self._path(g), "rb") as file:
                return read_start(file.read(), self.run)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.remark(f"{self._path(g)}: {error}: the column is computed again")
            return None

    def save(self, outcome: Outcome) -> None:
        """Save the start after a point, if it pays. Call it before the point is recorded as done."""
        if not self.folder or outcome.warm_start is None:
            return
        g = outcome.key[1]
        self.unsaved[g] = self.unsaved.get(g, 0.0) + (outcome.point.seconds or 0.0)
        if self.unsaved[g] < self.min_recompute_seconds:
            return
        with suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
            with atomic_write(self._path(g)) as file:
                file.write(start_bytes(self.run, outcome.key, cast("list[KnownOptima]", outcome.warm_start)))
            self.unsaved[g] = 0.0

    def clear(self) -> None:
        """Remove the files, and the folder if it is empty then."""
        if not self.folder:
            return
        with suppress(OSError):
            for name in os.listdir(self.folder):
                if name.endswith(SUFFIX) or UNFINISHED.fullmatch(name):
                    os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)


def data_digest(matrix: CsrMatrix, *by_row: Buffer) -> str:
    """SHA-256 of the parsed data, so of any compression and spelling; ``by_row``: targets, weights."""
    digest = sha256()
    for part in (matrix.indptr, matrix.indices, matrix.values, *by_row):
        digest.update(memoryview(part).cast("B") if len(part) else b"")
    return f"sha256:{digest.hexdigest()}"


# ---- warm starts in files ------------------------------------------------------------

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
