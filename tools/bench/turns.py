"""Runs repeated in turns; LIBSVM's parts that fit into a time budget represent the whole."""

import json
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.bench.measure import measure

LONGEST_SECONDS = 1e6  # 11 days: waiting for a child counts milliseconds in 32 bits


@dataclass
class Run:
    """One way to do a job: ``once`` does it and returns the result, {"seconds", …} or {"cannot"}."""

    name: str
    once: Any
    results: list = field(default_factory=list)
    cannot: str = ""
    about: dict = field(default_factory=dict)

    @property
    def last(self):
        """The last result, {} without one."""
        return self.results[-1] if self.results else {}

    @property
    def times(self):
        return [result["seconds"] for result in self.results]

    def median(self, key):
        """Over all results; None if they do not have it."""
        found = [r[key] for r in self.results if r.get(key) is not None]
        return statistics.median(found) if found else None

    @property
    def seconds(self):
        return self.median("seconds")

    def raw(self):
        """For JSON, without the predictions of every row."""
        results = [{**r, "records": [brief(line) for line in r.get("records", ())]} for r in self.results]
        told = {key: getattr(self, key) for key in ("name", "about", "cannot")}
        return {**told, "median": self.seconds, "results": results}


def brief(record):
    return {key: value for key, value in record.items() if key not in ("rows", "predictions")}


def refusals(runs):
    """What could not be run, a line for each reason."""
    reasons = {}
    for run in runs:
        if run.cannot:
            reasons.setdefault(f"NOT RUN{' again' if run.results else ''}: {run.cannot}", []).append(run.name)
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def extrapolation(runs, parts):
    """How much of LIBSVM's work was measured, if not all."""
    lines = []
    for last in (run.last for run in runs if mark(run.last)):
        ended = f" ({last['stopped']})" if last["stopped"] else ""
        lines.append(f"LIBSVM: {last['measured']:,} of {last['parts']:,} {parts} measured{ended}, ~ is extrapolated")
    return lines


def take_turns(runs, repeat, max_seconds_once):
    """Every run ``repeat`` times, in turns; one slower than ``max_seconds_once`` is not repeated."""
    for _ in range(repeat):
        for run in runs:
            if run.cannot or any(r.get("spent", r["seconds"]) > max_seconds_once for r in run.results):
                continue
            result = run.once()
            if "cannot" in result:
                run.cannot = result["cannot"]
            else:
                run.results.append(result)


def sampled(job, parts, timeout, measure=measure):
    """A child that measures as many of ``parts`` equal parts as fit into ``job["seconds"]``; see jobs/validators.py.

    Returns
    -------
    seconds, iterations : of all parts, extrapolated if not all were measured
    spent, measured, parts : seconds spent on measured parts, their number, and the number of all
    records : output of the child for each part
    stopped : why it ended early, or ""
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        path.touch()
        told = measure({**job, "records": str(path)}, 1, min(job["seconds"] + timeout, LONGEST_SECONDS))
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    records = [json.loads(line) for line in lines if line.endswith("\n")]  # a child may be stopped within a line
    if not records:
        return {"cannot": told.get("cannot", "nothing was measured")}
    spent = sum(r["seconds"] for r in records)
    share = len(records) / parts
    whole = {"seconds": spent / share, "iterations": round(sum(r["iterations"] for r in records) / share)}
    sample = {"spent": spent, "measured": len(records), "parts": parts, "records": records}
    return {**whole, **sample, "stopped": told.get("cannot", "")}


def mark(result):
    """'~' before an extrapolated number."""
    return "~" if result.get("measured", 0) < result.get("parts", 0) else ""
