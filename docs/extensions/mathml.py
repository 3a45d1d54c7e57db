"""Formulas as MathML, which browsers show by themselves: no script, no font, and nothing to be fetched.

$x$ and $$x$$ are formulas in Markdown, on code hosts, too.
"""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

FRACTION = re.compile(r"(\\[td]?frac)(\d)(\d)")  # \tfrac12, which docutils would read as the number 12


def inline(translator, node):
    translator.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def block(translator, node):
    translator.body.append(f'<div style="overflow: auto hidden">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def mathml(node, as_block):
    return tex2mathml(FRACTION.sub(r"\1{\2}{\3}", node.astext()), as_block=as_block)


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
