"""An observer that records its calls."""

from libsvmx import Observer


class Recorder(Observer):
    """Reports, remarks, iterations and factors in order; calls ``act`` at iteration ``at``."""

    def __init__(self, at=-1, act=lambda: None):
        self.at, self.act = at, act
        self.reports, self.remarks, self.lines, self.factors = [], [], [], []

    def solved(self, report):
        self.reports.append(report)

    def remark(self, kind, detail=""):
        self.remarks.append(kind)

    def iterated(self, line):
        self.lines.append(line)
        if line.number == self.at:
            self.act()

    def factorized(self, rank, trace_error, trace):
        self.factors.append((rank, trace_error, trace))
