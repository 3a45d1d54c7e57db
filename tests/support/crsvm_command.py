"""Options and output of --solver crsvm."""

import re

from . import data

HEART = str(data.DATA / "heart_scale")
IRIS = str(data.DATA / "iris.scale")
GLASS = str(data.DATA / "glass.scale")
CRSVM = ["--solver", "crsvm"]
LINEAR = [*CRSVM, "-t", "0"]
RBF = [*CRSVM, "-g", "0.1", "--rank", "20"]
AXES = ["-log2c", "-1,3,2", "-log2g", "null", "-png", "null"]
HEADER = "iter        mu       gap      dual    primal      |Q|   step"
LINE = re.compile(r" *(\d+) +([0-9.e+-]+) +([0-9.e+-]+) +([0-9.e+-]+) +([0-9.e+-]+) +(\d+) +([01]\.\d{3})")
STOPPED = "the result is feasible, not optimal\n"


def lines(out):
    """The iteration log: for each solve a list of (number, mu, gap, dual, primal, rows, step)."""
    solves = []
    for text in out.splitlines():
        if text == HEADER:
            solves.append([])
        elif solves and LINE.fullmatch(text):
            solves[-1].append(tuple(map(float, LINE.fullmatch(text).groups())))
    return solves


def numbers(out):
    """The numbers in LIBSVM's lines of the last solve."""
    return {name: float(value) for name, value in re.findall(r"(#iter|nu|obj|rho|nSV|nBSV) = (\S+?),?(?:\s|$)", out)}
