"""svmx-scale: svm-scale's options, output and range files."""

from __future__ import annotations

import errno
import os
import sys
from itertools import chain
from math import isfinite

from libsvmx._core.buffers import filled
from libsvmx._core.records import record
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import REPORT, UsageError, check_outputs, keep_apart, parse, real, setter
from libsvmx.cli.process import bytes_read, entry_of, phase, tell, warn, watch
from libsvmx.exceptions import DataError, FormatError, ParameterError
from libsvmx.io.files import STANDARD_INPUT, STANDARD_OUTPUT
from libsvmx.io.outputs import write_files
from libsvmx.io.rangefile import Ranges, read_ranges, text_of_ranges
from libsvmx.io.svmlight import DataFile, read_data
from libsvmx.io.textwrite import RowScaler, feature_ranges, label_range

USAGE = """\
usage: svmx-scale [options] data_file

Scales each feature of a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) to
[lower, upper] and writes the data to standard output, or to a file, which is complete or as it was
before. Features with a single value are left out.

options, LIBSVM's:
  -l lower             lower limit of features (-1); 0 keeps sparse data sparse
  -u upper             upper limit of features (1)
  -y lower upper       scale the labels too, to these limits
  -s range_file        save the ranges found, for -r
  -r range_file        scale by the ranges and limits of this file, not by those of the data

more:
  --output file        write the data there instead, with -s together with the ranges
  --lenient            skip blank lines and comment lines in the data
  --report FILE        write a report of results and times, as JSON
  --help, --version
"""

# A test set may have thousands of unseen features; the first few warnings suffice.
SHOWN_UNSEEN = 10


@record()
class Job:
    """The command line."""

    lower: float = -1.0
    upper: float = 1.0
    label_limits: tuple[float, float] | None = None
    save: str | None = None
    restore: str | None = None
    output: str = STANDARD_OUTPUT
    lenient: bool = False

    def set_label_limits(self, option: str, text: str) -> None:
        lower, _, upper = text.partition(LABEL_SEPARATOR)
        self.label_limits = real(option, lower), real(option, upper)

    def check(self) -> None:
        """Raise ParameterError for contradictory values."""
        for what, lower, upper in (("-l and -u", self.lower, self.upper), ("-y", *(self.label_limits or (0, 1)))):
            if not lower < upper:
                raise ParameterError(f"the limits of {what} do not fit: {lower:g} is not below {upper:g}")
            if not isfinite(upper - lower):
                raise ParameterError(f"the limits of {what} are too far apart")
        if self.save is not None and self.restore is not None:
            raise ParameterError("-s and -r cannot be used together")


OUTPUT = "--output"
LABEL_SEPARATOR = "\0"  # cannot occur in an argument


def join_label_limits(argv: list[str]) -> list[str]:
    """``-y a b`` as an option with one value, as ``parse`` requires."""
    out, i = [], 0
    while i < len(argv) and argv[i].startswith("-") and argv[i] != "-":
        if argv[i] in (REPORT, OUTPUT):
            out += argv[i : i + 2]
            i += 2
        elif argv[i].startswith("--"):
            out.append(argv[i])
            i += 1
        elif argv[i][1] == "y":
            if i + 2 >= len(argv):
                raise UsageError(f"option {argv[i]} needs two values")
            out += [argv[i], argv[i + 1] + LABEL_SEPARATOR + argv[i + 2]]
            i += 3
        else:
            out += argv[i : i + 2]
            i += 2
    return out + argv[i:]


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    files = parse(
        join_label_limits(argv),
        {
            "l": setter(vars(job), "lower", real),
            "u": setter(vars(job), "upper", real),
            "y": job.set_label_limits,
            "s": setter(vars(job), "save"),
            "r": setter(vars(job), "restore"),
        },
        {},
        {OUTPUT: setter(vars(job), "output")},
        {"--lenient": lambda: setattr(job, "lenient", True)},
        USAGE,
        "svmx-scale",
    )
    job.check()
    if len(files) != 1:
        raise UsageError("one data file is needed" if argv else "")
    if job.save == STANDARD_OUTPUT:
        raise UsageError("the ranges need a file: the scaled data go to standard output")
    check_outputs([job.save, job.output])
    keep_apart([files[0]], job.save, "range")
    keep_apart([files[0], job.restore], job.output, "output")
    if job.restore == files[0] == STANDARD_INPUT:
        raise UsageError("standard input can be the data or the range file, not both")
    watch(False, job.save, job.output)
    tell("scaling", *scale_file(job, files[0]))
    return 0


def scale_file(job: Job, path: str) -> tuple[DataFile, int, int]:
    """Read a data file, and scale it as ``scale`` does, with its results. Raises OSError, FormatError, too."""
    with phase("reading", path):
        ranges = None if job.restore is None else read_ranges(job.restore)
        data = read_data(path, lenient=job.lenient, told=bytes_read())
    for remark in data.remarks:
        warn(remark)
    if data.matrix.n_rows == 0:
        raise FormatError(data.path, 0, 0, "no data")
    with data.located(), phase("scaling", path):
        return data, *scale(job, ranges, data)


def scale(job: Job, given: Ranges | None, data: DataFile) -> tuple[int, int]:
    """Compute the ranges or take those ``given``, save them if asked to, and write the scaled data. Returns the number
    of features with a range, and of values written.

    Raises OSError, and DataError for values that are not finite, before or after scaling.
    """
    seen = data_ranges(job, data)
    if given is None:
        active = seen
    else:
        warn_unseen(seen, given, data.path, job.restore or "")
        active = restored(seen, given)
    scaler = RowScaler(active.indices, active.lows, active.highs, active.lower, active.upper, active.label)
    files: list[tuple[str, bytes]] = []  # written with the data where these go to a file
    if job.save is not None:  # only now: ranges that cannot scale must not replace others
        files.append((job.save, text_of_ranges(positive(seen, job.save))))
        if job.output == STANDARD_OUTPUT:
            with tidy_end():
                write_files(files)
    begin, parts = 0, list[bytes | bytearray]()
    write = write_output if job.output == STANDARD_OUTPUT else parts.append
    while begin < data.matrix.n_rows:
        begin, text = scaler.block(data.matrix, data.targets, begin)
        write(text)
    if job.output != STANDARD_OUTPUT:
        with tidy_end():
            write_files([*files, (job.output, parts)])
    if scaler.n_written > data.matrix.nnz:
        warn(
            f"the scaled data has {scaler.n_written} nonzeros, the data had {data.matrix.nnz} entries; "
            "for sparse data without negative values use -l 0"
        )
    return len(active.indices), scaler.n_written


def data_ranges(job: Job, data: DataFile) -> Ranges:
    """Ranges of the data, of features that are not constant, with the limits of the command line."""
    y_min, y_max = label_range(data.targets)
    label = None
    if job.label_limits is not None:
        if not isfinite(y_max - y_min):
            raise DataError(f"the range of the labels is too wide: {y_min:g} to {y_max:g}")
        label = (*job.label_limits, y_min, y_max)
    found = list(zip(*feature_ranges(data.matrix), strict=True))
    if found and found[0][0] == 0:
        warn(f"{data.path}: features should count from 1, but there is an index 0")
    return from_entries(job.lower, job.upper, [entry for entry in found if entry[1] != entry[2]], label)


def from_entries(
    lower: float, upper: float, entries: list[tuple[int, float, float]], label: tuple[float, float, float, float] | None
) -> Ranges:
    """Ranges of (index, low, high) triples."""
    return Ranges(
        lower,
        upper,
        filled("i", (entry[0] for entry in entries)),
        filled("d", (entry[1] for entry in entries)),
        filled("d", (entry[2] for entry in entries)),
        label,
    )


def positive(ranges: Ranges, path: str) -> Ranges:
    """Ranges for a range file, which has no index 0: that is left out, with a warning."""
    entries = list(zip(ranges.indices, ranges.lows, ranges.highs, strict=True))
    if not entries or entries[0][0] >= 1:
        return ranges
    warn(f"{path}: the range of index 0 is not saved")
    return from_entries(ranges.lower, ranges.upper, entries[1:], ranges.label)


def restored(seen: Ranges, given: Ranges) -> Ranges:
    """The ranges to scale by with ``-r``.

    All saved ranges, also of features that the data lack: their zeros may scale to other values. As in LIBSVM, index 0,
    which range files do not have, is scaled by its range in the data, and label limits of the command line apply if the
    file has none.
    """
    own = zip(seen.indices, seen.lows, seen.highs, strict=True)
    saved = zip(given.indices, given.lows, given.highs, strict=True)
    found = chain((entry for entry in own if entry[0] == 0), saved)
    varying = [entry for entry in found if entry[1] != entry[2]]
    return from_entries(given.lower, given.upper, varying, given.label or seen.label)


def warn_unseen(seen: Ranges, given: Ranges, data_path: str, range_path: str) -> None:
    """Warn of features that vary in the data but have no range."""
    known = set(seen.indices).intersection(given.indices)
    unseen = [index for index in seen.indices if index >= 1 and index not in known]
    for index in unseen[:SHOWN_UNSEEN]:
        warn(f"feature {index} of {data_path} has no range in {range_path} and is left out")
    if len(unseen) > SHOWN_UNSEEN:
        warn(f"{len(unseen) - SHOWN_UNSEEN} more features of {data_path} have no range in {range_path}")


def write_output(text: bytes | bytearray) -> None:
    """Write to standard output, past its buffer. Raises OSError that names it."""
    if sys.stdout is None:  # closed by the caller
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    try:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


entry = entry_of("svmx-scale", main, USAGE)
