"""Usages of the commands as tables, parsed from the text of --help.

    page(name) -> Page        command, synopsis, paragraphs, sections of options

The list of commands is that of `[project.scripts]` in pyproject.toml.
"""

import re
import sys
import tomllib
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from libsvmx._solvers.registry import solver_classes
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx._train.validation.scheme import CHOICES, SCHEMES
from libsvmx.cli.helptext import ENTRY, blocks
from libsvmx.cli.options import HELP, REPORT, VERSION, text_of
from libsvmx.cli.solveroptions import option_settings
from libsvmx.enums import KernelType

ROOT = Path(__file__).resolve().parents[1]
FILE, NOTHING, OTHER = "file", "nothing", "other"
FORMULATIONS = {
    "0": "C-SVC",
    "1": "nu-SVC",
    "2": "one-class",
    "3": "epsilon-SVR",
    "4": "nu-SVR",
    "quantile": "quantile regression",
}

# Values with descriptions, by option and by the name of the value in the usage.
VALUES = {
    ("-s", "type"): list(FORMULATIONS.items()),
    ("-t", "kernel"): [(kind.option, kind.keyword) for kind in KernelType],
    ("--solver", "NAME"): [(solver.name, solver.summary) for solver in solver_classes()],
    ("--seeder", "METHOD"): [(name, SEEDERS[name].help if name in SEEDERS else "") for name in CHOICES],
    ("--seeder-scheme", "SCHEME"): [(name, "") for name in SCHEMES],
}
# Words of a usage that refer to svmx-train's options, and the sections meant.
OF_TRAIN = {"[svmx-train options]": re.compile(""), "its options, as in svmx-train": re.compile("--solver ")}


@dataclass
class Option:
    """One form of an option: ``-s``, ``type``, and its description. An entry that is not an option has no name."""

    name: str
    value: str
    text: str

    @property
    def values(self):
        """Pairs of a value and its description; empty if the usage has none."""
        if (self.name, self.value) in VALUES:
            return VALUES[self.name, self.value]
        known = option_settings(solver_classes()).get(self.name)
        if known is not None and known.choices:
            return [(choice, "") for choice in known.choices]
        parts = self.value.split("|")
        return [(part, "") for part in parts] if len(parts) > 1 and all(map(str.isalnum, parts)) else []

    @property
    def kind(self):
        """FILE, NOTHING or OTHER."""
        if not self.value:
            return NOTHING
        return FILE if "file" in self.value.lower() or self.value == "ROWS" else OTHER


@dataclass
class Entry:
    """An entry: the options on the left, as written, and their description."""

    left: str
    text: str

    @property
    def options(self):
        """-x and --long-name with their values."""
        if not self.left.startswith("-"):
            return []
        found = (part.partition(" ") for part in re.split(r", (?=-)", self.left))
        return [Option(name, value, self.text) for name, _, value in found]


@dataclass
class Section:
    """A heading with entries below; ``prose`` follows the heading."""

    title: str
    entries: list = field(default_factory=list)
    prose: str = ""


@dataclass
class Page:
    """A command."""

    name: str
    summary: str
    usage: str
    synopsis: list
    paragraphs: list
    sections: list

    def options(self, others=()):
        """All options; ``others``: pages that define the options which this usage refers to svmx-train for."""
        found = {option.name: option for s in self.sections for e in s.entries for option in e.options}
        titles = [pattern for words, pattern in OF_TRAIN.items() if words in self.usage]
        for page in others if titles else ():
            if page.name == "svmx-train":
                own = (s for s in page.sections if any(pattern.match(s.title) for pattern in titles))
                theirs = {o.name: o for s in own for e in s.entries for o in e.options}
                taken = accepted(self.name)
                found |= {name: o for name, o in theirs.items() if name not in found and short(name) in taken}
        return list(found.values())


class Grammar(Exception):
    """Raised with the arguments of a command's call of ``options.parse``."""


def accepted(name):
    """The options that a command accepts: letters as -x, and long names."""
    import_module(commands()[name])

    def tell(argv, letters, flags, names, switches, *rest):
        raise Grammar({*(f"-{letter}" for letter in (*letters, *flags)), *names, *switches, HELP, VERSION, REPORT})

    loaded = [
        module for key, module in sys.modules.items() if key.startswith("libsvmx.cli.") and hasattr(module, "parse")
    ]
    kept = [module.parse for module in loaded]
    try:
        for module in loaded:
            module.parse = tell
        import_module(commands()[name]).main([HELP])
    except Grammar as found:
        return found.args[0]
    finally:
        for module, parse in zip(loaded, kept, strict=True):
            module.parse = parse


def short(name):
    """An option in LIBSVM's grammar, in which only the letter counts."""
    return name if name.startswith("--") else name[:2]


def commands():
    """Names and modules of the commands."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    return {name: f"libsvmx.cli.{place.partition(':')[2]}" for name, place in scripts.items()}


def pages():
    """Pages of all commands."""
    return [page(name, module) for name, module in commands().items()]


def page(name, module):
    """The page of a command."""
    loaded = import_module(module)
    usage = text_of(loaded.usage if hasattr(loaded, "usage") else loaded.USAGE)
    summary = loaded.__doc__.partition(": ")[2].split("\n")[0].rstrip(".")
    found = Page(name, summary, usage, [], [], [])
    for lines in blocks(usage):
        first, joined = lines[0], " ".join(line.strip() for line in lines)
        entry = ENTRY.fullmatch(first)
        if not joined:
            continue
        if not found.sections and (first.startswith("usage: ") or first.startswith("       svmx-")):
            found.synopsis.append(joined.removeprefix("usage: "))
        elif first.startswith("  "):
            left, text = (entry[2], entry[3]) if entry else (first.strip(), "")
            text = " ".join([text, *(line.strip() for line in lines[1:])]).strip()
            found.sections[-1].entries.append(Entry(left, text))
        elif first.endswith(":") and len(lines) == 1:
            found.sections.append(Section(first.rstrip(":")))
        elif joined.startswith("options"):
            title, _, prose = joined.partition(". ")
            found.sections.append(Section(title, prose=prose))
        else:
            found.paragraphs.append(joined)
    return found
