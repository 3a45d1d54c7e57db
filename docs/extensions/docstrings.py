"""The docstrings of libsvmx for Sphinx.

They are numpydoc's: a section becomes a heading and a list of definitions. Names of the public interface in types are
links. Solvers have their settings as parameters.
"""

import re

import libsvmx
from libsvmx._solvers.solver import Solver
from libsvmx._train.parameter import Parameter

RULE = re.compile(r"-{3,}")
WORD = re.compile(r"(?<![\w-])[A-Za-z_]\w*")
NAMED = ("Parameters", "Attributes", "Class attributes", "Raises", "Warns")  # what stands first is a name
VERBATIM = ("Examples",)
PUBLIC = {name for name in (*libsvmx.__all__, *libsvmx._ESTIMATORS) if not name.startswith("_")}


def sections(lines):
    """(heading, lines) of each section; the text before the first has heading None. A section ends with a line that
    is not indented after an empty one."""
    heading, body, found = None, [], []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and RULE.fullmatch(below):
            found.append((heading, body))
            heading, body = line, []
        elif heading and RULE.fullmatch(line):
            continue
        elif heading and heading not in VERBATIM and body and not body[-1] and line and not line.startswith(" "):
            found.append((heading, body))
            heading, body = None, [line]
        else:
            body.append(line)
    return [*found, (heading, body)]


def entries(body):
    """(head, lines of its meaning) of each entry of a section."""
    found = []
    for line in body:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif line and found:
            found[-1][1].append(line.strip())
    return found


def plain(line):
    """A line in which |x| and name_ are no markup."""
    return outside_literals(r"``.*?``", line, lambda part: re.sub(r"\||_(?!\w)", r"\\\g<0>", part))


def outside_literals(literals, text, change):
    parts = re.split(f"({literals})", text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def linked(kind):
    """A type, with links to public names; what is marked up stays so."""
    return outside_literals(r"``.*?``|'[^']*'", kind, lambda part: WORD.sub(link, part.replace("*", r"\*")))


def link(word):
    name = word[0]
    return rf":py:obj:`~libsvmx.{name}`\ " if name in PUBLIC else name


def literal(names):
    return ", ".join(f"``{name}``" for name in names.replace("\\", "").split(", "))


def entry(heading, head, meaning):
    """Lines of one definition."""
    name, colon, kind = head.partition(" : ")
    if heading in ("Raises", "Warns"):
        head = ", ".join(linked(part) if part in PUBLIC or " " in part else literal(part) for part in name.split(", "))
    elif heading in NAMED:
        head = literal(name) + (f" : {linked(kind)}" if colon else "")
    else:
        head = linked(head)
    return [head, *(f"    {line}" for line in meaning or [r"\ "])]


def in_sphinx(lines):
    """The lines of a docstring as reStructuredText."""
    out = []
    for heading, body in sections(lines):
        if heading not in VERBATIM:
            body = [plain(line) for line in body]
        if heading is None:
            out += [*body, ""]
            continue
        out += [f".. rubric:: {heading}", ""]
        found = entries(body)
        if heading in VERBATIM:
            out += body
        elif heading in NAMED or any(meaning for _, meaning in found):
            for head, meaning in found:
                out += entry(heading, head, meaning)
        else:
            out.append(linked(" ".join(line.strip() for line in body if line)))
        out.append("")
    return out


def settings_of(solver):
    """The section of a solver's settings."""
    found = ["Parameters", "----------"] if solver.settings() else []
    for setting in solver.settings():
        kind = " or ".join(map(repr, setting.choices)) or setting.kind.__name__
        what = f"{not setting.default}: {setting.help}" if setting.kind is bool else setting.help  # that of a switch
        found += [f"{setting.name} : {kind}, default {setting.default!r}", f"    {what}"]
    return found


def process(app, what, name, obj, options, lines):
    if isinstance(obj, type) and issubclass(obj, Solver):
        lines += settings_of(obj)
    lines[:] = in_sphinx(lines)


def process_signature(app, what, name, obj, options, signature, returned):
    """None for classes that callers get and do not make."""
    made = isinstance(obj, type) and (issubclass(obj, Solver | Parameter) or "Parameters\n" in (obj.__doc__ or ""))
    return ("", None) if what == "class" and not made else None


def skip(app, what, name, obj, skipped, options):
    """Members that are scikit-learn's own."""
    module = getattr(obj, "__module__", None) or ""
    routing = name.startswith("set_") and name.endswith("_request")
    return True if module.startswith("sklearn.") or routing else None


def setup(app):
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
