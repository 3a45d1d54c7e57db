"""Tables as text for people, and as Markdown."""

from dataclasses import dataclass, field

MEGABYTE = 1 << 20


@dataclass
class Table:
    """``rows``: tuples of str, the first is the heading; ``notes``: lines below the table."""

    title: str
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def text(self):
        return "\n".join([self.title, *aligned(self.rows), *(f"  {note}" for note in self.notes), ""])

    def markdown(self):
        lines = ["| " + " | ".join(row) + " |" for row in self.rows]
        lines[1:1] = ["|" + "---|" * len(self.rows[0])]
        return "\n".join([f"### {self.title}", "", *lines, "", *(f"- {note}" for note in self.notes), ""])


def aligned(rows):
    """Columns of equal width; the first is flush left, numbers are flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def text(value, form):
    """A number, or '' for None."""
    return "" if value is None else format(value, form)


def short(seconds):
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 100 else f"{seconds:,.0f}"


def milliseconds(seconds):
    """Three digits."""
    if seconds is None:
        return ""
    return f"{1e3 * seconds:,.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.3g}"


def times_range(times):
    """'1.2-3.4', or 'once'."""
    return f"{min(times):.3f}-{max(times):.3f}" if len(times) > 1 else "once"
