"""Man pages, completions and docs/commands.md: consistent with the usages, complete, and valid for their programs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import MODULES

from libsvmx.enums import KernelType

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools import command_pages, usages  # noqa: E402

PAGES = {page.name: page for page in usages.pages()}


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program}")


def test_they_are_up_to_date():
    """Otherwise run: python tools/command_pages.py --write"""
    assert command_pages.stale() == []


def test_every_command_has_its_pages():
    assert set(MODULES) <= set(PAGES)
    for folder in ("man", "completions/bash", "completions/zsh", "completions/fish"):
        assert len(list((ROOT / "packaging" / folder).iterdir())) == len(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_option_that_is_known_is_in_the_usage(name):
    """And the reverse: the table parsed from the text equals the grammar."""
    told = {usages.short(option.name) for option in PAGES[name].options(PAGES.values())}
    own = {"-o", "-l", "-p", "-r", "-g"} if name == "svmx-grid" else set()  # grid.py's, which are whole words
    taken = usages.accepted(name)
    unnamed = {"svmx-update": {"-h", "-b"}}.get(name, set())  # of svm-train, without effect
    assert told - own <= taken
    assert taken <= told | unnamed


@pytest.mark.parametrize("name", PAGES)
def test_no_word_of_a_usage_is_lost_on_the_way(name):
    page = PAGES[name]
    parts = [*page.synopsis, *page.paragraphs]
    for section in page.sections:
        parts += [section.title, section.prose, *(f"{entry.left} {entry.text}" for entry in section.entries)]
    words = " ".join(parts).replace(":", "").split()
    expected = page.usage.replace("usage: ", "").replace(":", "").split()
    assert sorted(word.rstrip(".") for word in words) == sorted(word.rstrip(".") for word in expected)


@needs("groff")
@pytest.mark.parametrize("name", PAGES)
def test_man_pages_render_without_a_warning(name):
    page = ROOT / "packaging" / "man" / f"{name}.1"
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in done.stdout.replace("\b", "").replace("EEXXIITT SSTTAATTUUSS", "EXIT STATUS")


def completed(line, folder):
    """bash's completions of the last word of a line."""
    words = line.split(" ")
    source = ROOT / "packaging" / "completions" / "bash" / words[0]
    array = " ".join(f"'{word}'" for word in words)
    script = (
        f"compopt() {{ :; }}\n. '{source}'\nCOMP_WORDS=({array}); COMP_CWORD={len(words) - 1}\n"
        f'_{words[0].replace("-", "_")}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-euc", script], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@needs("bash")
@pytest.mark.parametrize(
    "line, offered",
    [
        ("svmx-train --solver ", ["smo", "chunked", "irwls", "crsvm", "auto"]),
        ("svmx-train --solver c", ["chunked", "crsvm"]),
        ("svmx-train --solver =", ["smo", "chunked", "irwls", "crsvm", "auto"]),  # = is a separate word
        ("svmx-train --solver = c", ["chunked", "crsvm"]),
        ("svmx-train -t ", [kind.option for kind in KernelType]),
        ("svmx-train -q --expl", ["--explain"]),
        ("svmx-train --seeder-scheme ", ["chain", "star"]),
        ("svmx-grid --low-rank r", ["rpcholesky"]),
        ("svmx-grid --loo", []),  # it takes no such option
        ("svmx-export --format ", ["c", "json", "onnx"]),
        ("svmx-scale -s ", []),  # files, by default
    ],
)
def test_bash_offers(line, offered, tmp_path):
    assert completed(line, tmp_path) == offered


@pytest.mark.parametrize("shell, option", [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_shells_can_read_them(shell, option):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    for path in sorted((ROOT / "packaging" / "completions" / shell).iterdir()):
        done = subprocess.run([shell, option, path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), path


def test_quotes_and_brackets_are_kept():
    assert command_pages.quoted("u'v") == "'u'\\''v'"
    assert command_pages.fish_quoted(("0", "u'v"), ("1", "")) == "'0'\\t'u\\'v'\\n'1'"
    assert command_pages.roff(".x -1 \\") == "\\&.x \\-1 \\e"
