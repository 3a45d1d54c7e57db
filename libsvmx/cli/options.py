"""LIBSVM's option grammar.

Options come first, each ``-x value``, where only the letter after the dash counts: ``-cost 5`` and ``-c1 5`` are
``-c 5``. Of equal options the last counts. Options that LIBSVM lacks have long names, ``--name value`` or
``--name=value``. Unlike in LIBSVM, values are checked. process.py handles --help, --version and --report FILE.
"""

from __future__ import annotations

import os
import sys
from math import inf

from libsvmx._typing import TYPE_CHECKING
from libsvmx.io.files import is_one_file, same_file
from libsvmx.io.outputs import check_target, name_of_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

    Setter: TypeAlias = Callable[[str, str], None]
    Usage: TypeAlias = str | Callable[[], str]  # a function saves making it at each start


MOST_DIGITS = 10  # of a width
SCREEN = 40  # lines
HELP, VERSION, REPORT = "--help", "--version", "--report"
# LIBSVM's letters by scikit-learn's words.
LETTER_OF = {
    "C": "c",
    "cache-size": "m",
    "class-weight": "w",
    "coef0": "r",
    "cost": "c",
    "cv": "v",
    "degree": "d",
    "eps": "e",
    "epsilon": "p",
    "gamma": "g",
    "kernel": "t",
    "nu": "n",
    "probability": "b",
    "shrinking": "h",
    "tol": "e",
}


class UsageError(Exception):
    """The command line is wrong; without a message, the usage is printed."""


class HelpRequested(Exception):
    """``--help`` or ``--version``; ``args[0]`` is the text to print."""


def keep_apart(sources: Iterable[str | None], target: str | None, what: str) -> None:
    """Raise UsageError if a file that is read would be lost; None is no file."""
    for name in sources:
        if name is not None and target is not None and same_file(name, target):
            raise UsageError(f"the {what} file is the same as {name}, which would be lost")


def check_outputs(targets: Iterable[str | None]) -> None:
    """Raise OSError if one cannot be written, UsageError if two are one file; None is no file."""
    outputs = [name for name in targets if name is not None]
    for i, name in enumerate(outputs):
        check_target(name)
        if any(is_one_file(other, name) for other in outputs[:i]):
            raise UsageError(f"two files are to be written to {name_of_output(name)}")


def text_of(usage: Usage) -> str:
    """The text of a usage."""
    return usage if isinstance(usage, str) else usage()


def short_usage(usage: Usage, command: str) -> str:
    """What a command prints without arguments: of a usage longer than a screen, the part before the options."""
    text = text_of(usage)
    if text.count("\n") <= SCREEN:
        return text
    paragraphs = text.split("\n\n")
    options = next(i for i, one in enumerate(paragraphs) if one.partition("\n")[0].endswith(":"))
    return "\n\n".join([*paragraphs[:options], f"all options: {command} --help\n"])


def as_wide_as_the_terminal(text: str) -> str:
    """A usage, with no line longer than the terminal."""
    width = columns()
    if width is None or all(len(line) <= width for line in text.splitlines()):
        return text
    from libsvmx.cli.helptext import fitted  # not worth its time where nothing is too long

    return fitted(text, width)


def columns() -> int | None:
    """Maximum width of lines: COLUMNS, or the width of the terminal; None without either."""
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and len(text) < MOST_DIGITS and int(text) > 0:
        return int(text)
    try:
        return os.get_terminal_size(1).columns or None if sys.stdout is not None and sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


def parse(
    argv: list[str],
    letters: Mapping[str, Setter],
    flags: Mapping[str, Callable[[], None]],
    names: Mapping[str, Setter],
    switches: Mapping[str, Callable[[], None]],
    usage: Usage,
    command: str,
) -> list[str]:
    """Feed options to their setters; returns the arguments that follow.

    Parameters
    ----------
    argv : list of str          without the command
    letters : dict              letter -> setter(option as written, value)
    flags : dict                letter -> action without a value
    names : dict                long name -> setter(option, value)
    switches : dict             long name -> action without a value
    command : str               its name, for --version

    Raises
    ------
    UsageError, HelpRequested
    """
    names = {REPORT: lambda option, path: None, **names}
    i = 0
    while i < len(argv) and argv[i].startswith("-") and argv[i] != "-":
        option = argv[i]
        if option in (HELP, VERSION):
            raise HelpRequested(text_of(usage) if option == HELP else version_text(command))
        if option.startswith("--"):
            i += _long(argv, i, letters, names, switches)
            continue
        letter = option[1]
        if letter in flags:
            flags[letter]()
            i += 1
            continue
        if letter not in letters:
            raise unknown_option(option, letters, names, switches)
        if i + 1 >= len(argv):
            raise UsageError(f"option {option} needs a value{hint(option, names, switches)}")
        try:
            letters[letter](option, argv[i + 1])
        except UsageError as error:
            raise UsageError(f"{error}{hint(option, names, switches)}") from None
        i += 2
    for number, word in enumerate(argv[i:], 1):
        if not word:  # such as an unset variable of the shell
            raise UsageError(f"argument {number} after the options is empty")
        name = word.partition("=")[0]
        if name in names or name in switches:  # LIBSVM takes all that follows for files
            raise UsageError(f"option {name} must stand before the files")
    return argv[i:]


def unknown_option(option: str, letters: Iterable[str], *names: Iterable[str]) -> UsageError:
    """The error, with the letter or the long name that is probably meant."""
    letter = LETTER_OF.get(option.lstrip("-").replace("_", "-"), "")
    meant = f"; did you mean -{letter}?" if letter in letters else hint(option, *names)
    return UsageError(f"unknown option {option}{meant}")


def hint(option: str, *known: Iterable[str]) -> str:
    """``; did you mean --solver?`` if a wrong option resembles a long one."""
    if len(option) < 3:  # a letter
        return ""
    from libsvmx._core.suggestions import nearest

    found = nearest(option.lstrip("-"), [name.lstrip("-") for names in (*known, (HELP, VERSION)) for name in names])
    return f"; did you mean --{found}?" if found else ""


def version_text(command: str) -> str:
    """One line: command, version, and the version of LIBSVM that it is compatible with."""
    from libsvmx._version import VERSION

    return f"{command} {VERSION} (libsvmx; compatible with LIBSVM 3.37)\n"


def _long(
    argv: list[str],
    i: int,
    letters: Mapping[str, Setter],
    names: Mapping[str, Setter],
    switches: Mapping[str, Callable[[], None]],
) -> int:
    """Handle the long option at i; returns the number of arguments it took."""
    name, equals, value = argv[i].partition("=")
    if name in switches:
        if equals:
            raise UsageError(f"option {name} takes no value")
        switches[name]()
        return 1
    if name not in names:
        raise unknown_option(name, letters, names, switches)
    if equals:
        names[name](name, value)
        return 1
    if i + 1 >= len(argv):
        raise UsageError(f"option {name} needs a value")
    names[name](name, argv[i + 1])
    return 2


def setter(values: dict[str, Any], name: str, read: Callable[[str, str], object] | None = None) -> Setter:
    """Puts the value of an option, by ``read(option, text)`` or as text, into ``values``, such as ``vars`` of a job."""
    return lambda option, text: values.__setitem__(name, read(option, text) if read else text)


def integer(option: str, text: str) -> int:
    """A whole number; ``5.0`` is one, too."""
    value = real(option, text)
    if value != int(value):
        raise UsageError(f"option {option} needs a whole number, not {text!r}")
    return int(value)


def count(option: str, text: str) -> int:
    """A whole number from 1 on."""
    value = integer(option, text)
    if value < 1:
        raise UsageError(f"option {option} must be at least 1, not {text!r}")
    return value


def real(option: str, text: str) -> float:
    """A finite number."""
    try:
        value = float(text) if "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        raise UsageError(f"option {option} needs a number, not {text!r}")
    if value - value != 0:
        raise UsageError(f"option {option} needs a finite number, not {text!r}")
    return value


def cost(option: str, text: str) -> float:
    """A number, or ``inf`` for a hard margin; as in LIBSVM also a number too large for a double."""
    try:
        return inf if "_" not in text and float(text) == inf else real(option, text)
    except ValueError:
        return real(option, text)


def switch(option: str, text: str) -> bool:
    """0 or 1."""
    if text not in ("0", "1"):
        raise UsageError(f"option {option} needs 0 or 1, not {text!r}")
    return text == "1"
