"""Pages and completions of the commands, generated from the usages that they print.

Usage: python tools/command_pages.py [--write]        names the files that are out of date, or writes them

docs/commands.md                    each command: usage, example, report
    packaging/man/svmx-*.1              man pages
    packaging/completions/bash|zsh|fish completion of options, of their values, and of files
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from libsvmx.cli.helptext import fitted  # noqa: E402
from libsvmx.cli.results import PARTS  # noqa: E402
from tools.usages import FILE, NOTHING, pages  # noqa: E402

MADE = "made by tools/command_pages.py"
WIDTH = 86  # columns of a box of the site
# Run one after the other in docs/commands.md.
EXAMPLES = {
    "svmx-train": "svmx-train -c 10 -g 0.05 data/heart_scale heart.model",
    "svmx-predict": "svmx-predict data/heart_scale heart.model heart.out",
    "svmx-scale": "svmx-scale -s heart.ranges data/heart_scale > heart.scaled",
    "svmx-grid": "svmx-grid -log2c -1,3,2 -log2g -3,-5,-2 -png null data/heart_scale",
    "svmx-easy": "svmx-easy heart.scaled",
    "svmx-subset": "svmx-subset --random-state 1 data/heart_scale 200 heart.train heart.test",
    "svmx-checkdata": "svmx-checkdata data/heart_scale",
    "svmx-update": "svmx-update -c 10 --remove 1-5 data/heart_scale heart.model heart.model2",
    "svmx-compress": "svmx-compress --max-sv 50 heart.model heart.small",
    "svmx-export": "svmx-export heart.model heart.c",
    "svmx-batch": "for c in 1 10 100; do echo svmx-train -q -c $c data/heart_scale heart.$c.model; done | svmx-batch -",
}
EXIT_STATUS = "0 if all went well, 1 after an error, which is told on standard error."


# ---- docs/commands.md ----------------------------------------------------------------------------


def markdown(found):
    """All commands on one page."""
    text = [
        f"<!-- {MADE} -->",
        "# The commands",
        "",
        "Each prints its usage with `--help`. [terminal.md](terminal.md) says what they have in common: progress,",
        "reports, completion. The examples run in a clone of the repository.",
        "",
    ]
    text += [f"- [{page.name}](#{page.name}): {lowered(page.summary)}" for page in found]
    for page in found:
        text += ["", f"## {page.name}", "", "```text", fitted(page.usage, WIDTH).rstrip("\n"), "```"]
        if page.name in EXAMPLES:
            text += ["", "```sh", EXAMPLES[page.name], "```"]
        if page.name in PARTS:
            parts = ", ".join(f"`{part}`" for part in PARTS[page.name])
            text += ["", f"`result` of its report: {parts}; see [terminal.md](terminal.md#reports)."]
    return "\n".join(text) + "\n"


def lowered(text):
    return text[0].lower() + text[1:]


# ---- man pages -----------------------------------------------------------------------------------


def man(page, found):
    """A page in man(7) macros."""
    lines = [f'.\\" {MADE}', f'.TH {page.name.upper()} 1 "" libsvmx "User Commands"']
    lines += [".SH NAME", f"{roff(page.name)} \\- {roff(lowered(page.summary))}", ".SH SYNOPSIS", ".nf"]
    lines += [roff(line) for line in page.synopsis]
    lines += [".fi", ".SH DESCRIPTION"]
    lines += [part for text in page.paragraphs for part in (".PP", roff(text))][1:]
    lines.append(".SH OPTIONS")
    for section in page.sections:
        lines.append(f'.SS "{roff(section.title[0].upper() + section.title[1:])}"')
        lines += [roff(section.prose)] if section.prose else []
        for entry in section.entries:
            lines += [".TP", f"\\fB{roff(entry.left)}\\fR", roff(entry.text or TEXT_OF_COMMON)]
    lines += [".SH EXIT STATUS", EXIT_STATUS]
    if page.name in EXAMPLES:
        lines += [".SH EXAMPLE", ".nf", roff(EXAMPLES[page.name]), ".fi"]
    others = [f".BR {other.name} (1)" for other in found if other.name != page.name]
    lines += [".SH SEE ALSO", *(f"{other}," for other in others[:-1]), others[-1]]
    return "\n".join(lines) + "\n"


TEXT_OF_COMMON = "Print the usage, or the version."


def roff(text):
    """Text escaped for groff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith((".", "'")) else text


# ---- completions ---------------------------------------------------------------------------------


def written(option):
    """An option as typed; -wL, with its label, as "-w"."""
    return "-w" if option.name == "-wL" else option.name


def quoted(text):
    """Completions for all three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


def brief(text, most=60):
    """The first words of a text, at most ``most`` characters."""
    text = text.split(";")[0].split(" (")[0]
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def said(option):
    """A short description of an option, or else the name of its value."""
    if not option.text:
        return option.name.lstrip("-")
    return brief(option.text) if option.text[0].isalpha() else option.value


def bash(page, found):
    """For the folder bash-completion/completions."""
    options, name = page.options(found), f"_{page.name.replace('-', '_')}"
    cases = [
        f"{written(option)}) {replies(' '.join(value for value, _ in option.values))}; return ;;"
        for option in options
        if option.values
    ]
    files = "|".join(written(o) for o in options if o.kind == FILE and not o.values)
    others = "|".join(written(o) for o in options if o.kind not in (FILE, NOTHING) and not o.values)
    cases += [f"{others}) compopt +o default; return ;;"] if others else []
    cases += [f"{files}) return ;;"] if files else []
    lines = [f"# Completion of {page.name} for bash, {MADE}", f"{name}() {{"]
    lines += ["    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}", "    COMPREPLY=()"]
    # bash splits --option=value at the =
    lines += ["    [[ $word != = ]] || word=", "    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}"]
    lines += ["    case $before in", *(f"        {case}" for case in cases), "    esac"] if cases else []
    lines += ["    if [[ $word == -* ]]; then"]
    lines += [f"        {replies(' '.join(written(o) for o in options))}", "    fi", "}"]
    lines += [f"complete -o default -F {name} {page.name}"]  # file names by default
    return "\n".join(lines) + "\n"


def replies(words):
    """A command that completes with the given words."""
    return f'mapfile -t COMPREPLY < <(compgen -W {quoted(words)} -- "$word")'


def zsh(page, found):
    """For a folder of fpath, as _svmx-...."""
    lines = [f"#compdef {page.name}", f"# Completion of {page.name} for zsh, {MADE}", "_arguments -S \\"]
    for option in page.options(found):
        spec = f"*{written(option)}[{colons(said(option))}]"
        if option.values:
            values = " ".join(f"{value}\\:{quoted_in_list(brief(text) or value)}" for value, text in option.values)
            spec += f":{colons(option.value)}:(({values}))"
        elif option.kind == FILE:
            spec += f":{colons(option.value)}:_files"
        elif option.kind != NOTHING:
            spec += f":{colons(option.value)}: "
        lines.append(f"    {quoted(spec)} \\")
    lines.append("    '*:file:_files'")
    return "\n".join(lines) + "\n"


def colons(text):
    return "".join(f"\\{c}" if c in ":[]" else c for c in text)


def quoted_in_list(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace(":", "\\:") + '"'


def fish(page, found):
    """For a folder vendor_completions.d."""
    lines = [f"# Completion of {page.name} for fish, {MADE}"]
    for option in page.options(found):
        name = written(option)
        kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"
        line = f"complete -c {page.name} {kind}"
        if option.values:
            line += f" -x -a {fish_quoted(*((value, brief(text)) for value, text in option.values))}"
        elif option.kind == FILE:
            line += " -r -F"
        elif option.kind != NOTHING:
            line += " -x"
        lines.append(f"{line} -d {fish_quoted((said(option), ''))}")
    return "\n".join(lines) + "\n"


def fish_quoted(*pairs):
    """Values with descriptions, one per line; tabs and newlines separate only outside quotes."""
    inside = ([part.replace("\\", "\\\\").replace("'", "\\'") for part in pair if part] for pair in pairs)
    return "\\n".join("\\t".join(f"'{part}'" for part in parts) for parts in inside)


# ---- all pages -----------------------------------------------------------------------------------


def files():
    """{path: content} of all files."""
    found = pages()
    out = {ROOT / "docs" / "commands.md": markdown(found)}
    for page in found:
        out[ROOT / "packaging" / "man" / f"{page.name}.1"] = man(page, found)
        folder = ROOT / "packaging" / "completions"
        out[folder / "bash" / page.name] = bash(page, found)
        out[folder / "zsh" / f"_{page.name}"] = zsh(page, found)
        out[folder / "fish" / f"{page.name}.fish"] = fish(page, found)
    return out


def stale():
    """Paths of files that are out of date."""
    return [path for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


if __name__ == "__main__":
    wrong = stale()
    if "--write" in sys.argv[1:]:
        for path, text in files().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    else:
        print(*(path.relative_to(ROOT) for path in wrong), sep="\n")
        sys.exit(bool(wrong))
