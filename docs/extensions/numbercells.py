"""Cells of tables that are numbers get the class ``number``, and so does the header above them: site.css aligns them.

There may be several, as in a range or a product, signs before them and units of one or two letters behind: ``1,605``,
``> 60``, ``0.8 %``, ``5 to 16 ms``.
"""

import re

from docutils import nodes

ONE = r"[~<>\u2264\u2265\u00b1\u2212+-]? ?\d[\d.,]*(?:e[-\u2212]?\d+)? ?(?:%|[a-zA-Z]{1,2})?"
NUMBER = re.compile(rf"{ONE}(?: ?(?:[\u2013\u00d7,/]|to) ?{ONE})*")  # an en dash, a multiplication sign


def is_number(text):
    return NUMBER.fullmatch(text.strip()) is not None


def mark_numbers(app, document):
    for table in document.findall(nodes.table):
        for body in table.findall(nodes.tbody):
            columns = list(zip(*(row.children for row in body.children), strict=False))
            header = next(iter(table.findall(nodes.thead)), None)
            titles = header.children[-1].children if header is not None else [None] * len(columns)
            for title, cells in zip(titles, columns, strict=False):
                numbers = [cell for cell in cells if is_number(cell.astext())]
                for cell in numbers:
                    cell["classes"].append("number")
                if title is not None and 2 * len(numbers) > len(cells):
                    title["classes"].append("number")


def setup(app):
    app.connect("doctree-read", mark_numbers)
    return {"parallel_read_safe": True}
