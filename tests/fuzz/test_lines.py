"""Option lines of every command: arbitrary words, and lines with one wrong word."""

from pathlib import Path

import pytest
from support.commands import MODULES
from support.wild import NUMBERS
from support.wildlines import LINES, line_of

WORDS = ["-c", "-g", "-b", "-v", "-q", "--", "-", "--help", "--version", "rows", "model", "nofile", "", "--lenient=1"]
WORDS += ["--add", "--window", "--remove", "-s", "-y", "--threads=0", "-w1", "--unlabeled", "/dev/null", *NUMBERS]


def test_any_words(place, cases):
    commands = [name for name in MODULES if name not in ("svmx-grid", "svmx-easy")]  # those may take long
    for wild in cases.each(60):
        r = wild.random
        line = [r.choice(WORDS) for _ in range(r.randrange(7))]
        if "-" not in line:  # standard input is empty
            cases.count(place.call(r.choice(commands), *line)[0] == 0)


@pytest.mark.parametrize("command", LINES)
def test_lines_of_a_command(place, cases, command):
    """A line succeeds, or is refused before anything is written."""
    files = {"d": b"".join(place.lines[:30]), "e": b"".join(place.lines[30:40])}
    sources = {"m": "model", "t": "rows", "s": "state", "r": "ranges"}
    files |= {name: place.get(source) for name, source in sources.items()}
    files |= dict.fromkeys(("o1", "o2", "o3"), b"OLD\n")
    for wild in cases.each(20):
        for path in Path().iterdir():  # the line before may have written any of them
            if path.is_file():
                path.unlink()
        for name, content in files.items():
            place.put(name, content)
        line = line_of(wild, command)
        code, _ = place.call(command, *line)
        cases.count(code == 0)
    cases.check(0.15)
