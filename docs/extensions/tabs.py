"""A step that a page shows for the shell and, right below it, for Python becomes two tabs of sphinx-design.

A block of ``sh`` and one of ``python`` with nothing but blank lines between them are such a step; the output of each is
in its tab. A code host shows them one below the other.
"""

import re

BLOCK = r"```{kind}\n(?:(?!```).*\n)*?```\n"
STEP = re.compile(
    r"^(?P<sh>{sh}(?:\n+{output})?)\n+(?P<python>{python}(?:\n+{output})?)".format(
        **{kind: BLOCK.format(kind=kind) for kind in ("sh", "python", "output")}
    ),
    re.M,
)


def in_tabs(text):
    def tabs(found):
        lines = ["::::{tab-set}", ":sync-group: language"]
        for title, kind in (("Shell", "sh"), ("Python", "python")):
            lines += [f":::{{tab-item}} {title}", f":sync: {kind}", "", found[kind], ":::"]
        return "\n".join([*lines, "::::", ""])

    return STEP.sub(tabs, text)


def change_page(app, name, source):
    source[0] = in_tabs(source[0])


def setup(app):
    app.connect("source-read", change_page)
    return {"parallel_read_safe": True}
