"""svmx-checkdata: every format error in a data file, line by line, in checkdata.py's words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from math import inf

from libsvmx._core.records import record
from libsvmx.cli.options import UsageError, parse
from libsvmx.cli.process import FAILURE, counted, entry_of, phase, tell, warn, watch, write
from libsvmx.io.files import read_blocks, size_of

USAGE = """\
usage: svmx-checkdata [options] dataset

Reports every line of a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) that is not
label index:value index:value ..., with indices ascending and numbers finite. Labels may be a,b,c of
multi-label data. Exit code 1 if there is any, or if none of the first 100000 lines is a row (the rest is
then skipped).

options:
  --lenient      ignore blank lines and comment lines
  --report FILE  write a report of results and times, as JSON
  --help, --version
"""

BLOCK_BYTES = 1 << 20
LINES_BETWEEN_COUNTS = 1000
LINES_LOOKED_AT = 100_000  # a file without a row in this many lines is no data file
MAX_INDEX = 2**31 - 1

NO_NEWLINE = "missing a newline character in the end"
NO_LABEL = "missing label, perhaps an empty line?"
BAD_LABEL = "label {} is not a number"
BAD_LABELS = "label {} is not a valid multi-label form"
NEGATIVE = "feature index must be positive; wrong feature {}"
NOT_ASCENDING = "feature indices must be in an ascending order, previous/current features {} {}"
NOT_A_PAIR = "feature '{}' not an <index>:<value> pair, <index> integer, <value> real number "

# Python's float and int also accept 1_000 and digits of other scripts, which svmx-train refuses
REAL = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
NUMBER = re.compile(REAL)
PAIR = re.compile(rf"([-+]?[0-9]{{1,4000}}):({REAL})")  # Python refuses to convert longer integers
LARGEST_EXPONENT = 308


def lines_of(path: str, size: int = BLOCK_BYTES) -> Iterator[str]:
    """Lines with their newline, in ``size`` bytes and a line at a time; bytes that are not UTF-8 appear as \\x.."""
    parts: list[bytes] = []  # of the present line
    for block in read_blocks(path, size):
        head, newline, tail = block.partition(b"\n")
        parts.append(head)
        if not newline:
            continue
        yield b"".join(parts).decode("utf-8", "backslashreplace") + "\n"
        *lines, last = tail.split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "backslashreplace") + "\n"
        parts = [last]
    if rest := b"".join(parts):
        yield rest.decode("utf-8", "backslashreplace")


def is_number(text: str) -> bool:
    """A finite decimal number."""
    return NUMBER.fullmatch(text) is not None and is_finite(text)


def is_finite(number: str) -> bool:
    """Whether a decimal number is within double precision."""
    return (len(number) < LARGEST_EXPONENT and "e" not in number and "E" not in number) or abs(float(number)) != inf


def is_skipped(line: str) -> bool:
    """Whether a line is blank, or holds only a comment."""
    text = line.lstrip()
    return not text or text.startswith("#")


def errors_of(line: str) -> list[str]:
    """The errors of a line."""
    errors = [] if line.endswith("\n") else [NO_NEWLINE]
    nodes = line.split()
    if not nodes:
        return [*errors, NO_LABEL]
    label = nodes.pop(0)
    if "," in label:
        if not all(is_number(part) for part in label.split(",")):
            errors.append(BAD_LABELS.format(label))
    elif not is_number(label):
        errors.append(BAD_LABEL.format(label))
    previous = -1
    for i, node in enumerate(nodes):
        pair = PAIR.fullmatch(node)
        if pair is None or not is_finite(pair[2]) or (index := int(pair[1])) > MAX_INDEX:
            errors.append(NOT_A_PAIR.format(node))
            continue
        if index < 0:
            errors.append(NEGATIVE.format(node))
        elif index <= previous:  # index 0 is the serial number of precomputed kernels
            errors.append(NOT_ASCENDING.format(nodes[i - 1], node))
        previous = index
    return errors


@record()
class Job:
    """The command line."""

    lenient: bool = False


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    files = parse(argv, {}, {}, {}, {"--lenient": lambda: setattr(job, "lenient", True)}, USAGE, "svmx-checkdata")
    if len(files) != 1:
        raise UsageError("one data set is needed" if argv else "")
    with suppress(AttributeError):  # not Python's own text stream
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    watch()
    rows = wrong = number = n_bytes = 0
    comment = 0
    size = size_of(files[0])
    with phase("checking", files[0]):
        for number, line in enumerate(lines_of(files[0]), 1):
            is_row = not (job.lenient and is_skipped(line))
            errors = errors_of(line) if is_row else []
            rows += is_row and not errors
            if errors:
                wrong += 1
                if not comment and line.strip() and is_skipped(line):
                    comment = number
                write("".join(f"line {number}: {error}\n" for error in errors))
            n_bytes += len(line)
            if number % LINES_BETWEEN_COUNTS == 0:
                counted("", min(n_bytes, size), size)
            if number == LINES_LOOKED_AT and not rows:
                break
    no_data = number == LINES_LOOKED_AT and not rows
    tell("checked", number, wrong)
    if comment:
        warn(f"line {comment} is only a comment: --lenient, here and in svmx-train, takes no notice of such lines")
    if no_data:
        warn(f"not one of the first {number} lines is a row: what follows them is not looked at")
    if wrong:
        write(f"Found {wrong} lines with error.\n")
    if wrong or no_data:
        return FAILURE
    write("No error.\n")
    return 0


entry = entry_of("svmx-checkdata", main, USAGE)
