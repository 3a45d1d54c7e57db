"""One style for all figures: readable on a telephone without zooming, on light and dark backgrounds.

Colours are those of Okabe & Ito, which colour-blind readers can tell apart; where it matters, shape or position
also distinguishes.
"""

from contextlib import contextmanager

WIDTH = 5.2  # inches; at 350 pixels, the text width of a 390-pixel telephone, letters of 10 points are 9 pixels high
INK, MUTED, FAINT, GROUND = "#22262b", "#6b7280", "#d6d9de", "#fcfcfa"
ALPHA, GAMMA, TIMES = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER GAMMA}", "\N{MULTIPLICATION SIGN}"
BLUE, ORANGE, GREEN, RED, SKY, PINK = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"

# in an SVG on a dark page
DARK = {INK: "#e4e6ea", MUTED: "#9aa1ac", FAINT: "#3d4249", GROUND: "#131416", BLUE: "#4aa8e0", RED: "#f07c2c"}

SETTINGS = {
    "figure.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "font.family": "DejaVu Sans",  # included in matplotlib
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.2,
    "mathtext.fontset": "dejavusans",
    "svg.hashsalt": "libsvmx",  # so that two runs write the same bytes
    "svg.fonttype": "path",
}


@contextmanager
def applied():
    """The style as a context for drawing and saving figures."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def panels(height, rows=1, columns=1, **more):
    """A figure of the usual width, and its axes from ``Figure.subplots``, which gets ``more``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure, figure.subplots(rows, columns, **more)


def canvas(height):
    """A figure with invisible axes: x from 0 to WIDTH and y from 0 to ``height``, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def legend_below(figure, axes, columns, **more):
    """One legend below all panels; returns it."""
    return figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, **more)


def box(axes, x, y, width, height, text, colour, *, filled=False, **more):
    """A box with rounded corners, lower left corner (x, y), and centred text."""
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.07"
    face = colour if filled else GROUND
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, fc=face, ec=colour, lw=1.2))
    ink = GROUND if filled else INK
    axes.text(x + width / 2, y + height / 2, text, **{"ha": "center", "va": "center", "color": ink, **more})


def arrow(axes, start, end, colour=MUTED, **more):
    """From one point to another."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.2, **more})


def save(figure, path):
    """SVG: the same bytes each time with one version of matplotlib, which the file names."""
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=200)
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("</style>", on_dark_pages() + "</style>", 1), encoding="utf-8")


def on_dark_pages():
    """CSS with other colours for dark pages."""
    rules = (
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"\n@media (prefers-color-scheme: dark){{{''.join(rules)}}}"
