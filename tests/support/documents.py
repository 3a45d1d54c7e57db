"""Programs in Markdown: the blocks of a document, their marks, and a clone in which to run them."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from support.commands import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md"]
NAMES += [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]

# Needs an optional package.
NEEDS = {
    **dict.fromkeys(("README.md", "docs/index.md", "docs/from-sklearn.md", "docs/sklearn.md"), "sklearn"),
    **dict.fromkeys(("docs/path.md", "docs/plot.md"), "matplotlib"),
    "docs/practice.md": "pandas",
}

# The interpreter of a block, which gets its text; with -c Python imports as at its prompt.
RUNNERS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["python", "-c"]}
OUTPUT, TEXT = "output", "text"

# The first line of a block may give a reason not to run it, or say that it takes long.
NOT_RUN = re.compile(r"# not run by the tests: (.+)")
SLOW = "# takes minutes"


@dataclass
class Block:
    """Lines between two fences; ``line`` is the first fence's number, from 1."""

    document: str
    line: int
    kind: str
    text: str = ""

    def __str__(self):
        return f"{self.document}:{self.line}"

    def not_run(self):
        """The reason for not running the block, or None."""
        found = NOT_RUN.fullmatch(self.text.partition("\n")[0])
        return found and found[1]

    def is_directive(self):
        """Whether the block is Sphinx markup, such as the contents of the site."""
        return self.kind.startswith("{")

    def is_slow(self):
        return self.text.startswith(SLOW)


def blocks(document, text):
    """All blocks of a Markdown text."""
    found, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
            if inside:
                found.append(Block(document, number, line.strip().removeprefix("```")))
        elif inside:
            found[-1].text += line + "\n"
    assert not inside, f"{document}: a block has no end"
    return found


def blocks_of(document):
    return blocks(document, (ROOT / document).read_text(encoding="utf-8"))


def promised():
    """Pieces of the README commands that .ci/run runs in a fresh environment."""
    return re.findall(r'promised "([^"]+)"', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))


def shows(printed, shown):
    """Whether output matches a block: "…" matches any text in a line, a line "..." any lines."""
    lines = []
    for line in shown.splitlines(True):
        part = "(?:.*\n)*" if line.strip() == "..." else ".*".join(map(re.escape, line.split("…")))
        lines.append(part)
    return re.fullmatch("".join(lines), printed) is not None


def make_clone(folder):
    """A copy of the files under version control that documents mention, with its own index."""
    for name in (".gitignore", "README.md", "CONTRIBUTING.md", "meson.build", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("data", "docs", "libsvmx", "packaging", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


def git(folder, *arguments):
    """The output of git in a folder, even if the tests run in a hook of another repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def left_behind(folder):
    """Changed and new files of a clone that git does not ignore."""
    return git(folder, "diff", "--stat") + git(folder, "ls-files", "-o", "--exclude-standard")


def environment():
    """The environment of a reader who has installed the package: `python` is the interpreter of the tests, without
    -P."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONSAFEPATH", "PYTEST_CURRENT_TEST")}
    here = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    return {**env, "PATH": os.pathsep.join([*here, env.get("PATH", os.defpath)])}


def run(block, folder):
    """The output of a block, which must succeed."""
    done = subprocess.run(
        [*RUNNERS[block.kind], block.text],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{block} ends with {done.returncode}:\n{done.stderr}"
    return done.stdout
