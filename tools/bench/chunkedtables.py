"""Tables of chunked.py: every run of a trial, the seconds of a part side by side, and the map."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tools.bench.report import aligned
from tools.bench.seeding import pipes
from tools.bench.turns import refusals

if TYPE_CHECKING:
    from tools.bench.chunked import Found
    from tools.bench.chunkedcases import Part

LONG = ("", "q", "seconds", "min-max", "chunks", "iterations", "SV", "bounded", "gap", "above smo", "status")
CHUNKS = ("chunked", "irwls")


def title(found: Found) -> str:
    trial = found.trial
    size = f" ({found.n_rows:,} x {found.n_columns:,})" if found.n_rows else ""
    note = f"; {trial.note}" if trial.note else ""
    return f"{trial.case.name}: {trial.case.data}{size}, C={trial.C:g}, gamma={trial.gamma:.4g}{note}"


def long_table(found: Found) -> str:
    """Every way of a trial."""
    rows = long_rows(found)
    lines = [f"  NOT RUN: {found.cannot}"] if found.cannot else [*aligned([LONG, *rows]), *remarks(found)]
    return "\n".join([title(found), *lines])


def long_rows(found: Found) -> list[tuple[str, ...]]:
    rows = []
    for run in found.runs:
        judged = found.judged.get(run.name)
        if not judged:
            continue
        last, way = run.results[-1], found.way(run.name)
        times = [result["seconds"] for result in run.results]
        rows.append(
            (
                run.name,
                (str(way.working_set) if way.working_set else "auto") if way.solver in CHUNKS else "",
                f"{run.seconds:.3f}",
                f"{min(times):.3f}-{max(times):.3f}" if len(times) > 1 else "once",
                f"{last['chunks']:,}" if last["chunks"] else "",
                f"{last['iterations']:,}",
                f"{judged.n_sv:,}",
                f"{judged.n_bounded:,}",
                f"{judged.certificate.gap:.2e}" + (" !" if run.name in found.wrong() else ""),
                text(judged.excess, ".1e"),
                last["status"],
            )
        )
    return rows


def remarks(found: Found) -> list[str]:
    lines = ["  " + line for line in refusals(found.runs)]
    if found.wrong():
        lines.append(f"  NOT OPTIMAL (!): {', '.join(found.wrong())}")
    return lines


def text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


# ---- of a part -----------------------------------------------------------------------------------


def summary(results: list[Found], part: Part) -> str:
    tables = map_tables(results) if part.grid else [seconds_rows(results)]
    return "\n\n".join("\n".join([part.title, *aligned(rows)]) for rows in tables if len(rows) > 1)


def seconds_rows(results: list[Found]) -> list[tuple[str, ...]]:
    """Medians of every way in a line for each trial; ">": stopped."""
    ways = list(dict.fromkeys(way.name for found in results for way in found.trial.ways))
    paper = any(found.trial.paper_sv for found in results)
    rows = [("", "n", "C", "gamma", "SV", *(("in the paper",) if paper else ()), "bounded", *ways)]
    for found in results:
        best = next((j for name in ("smo", "LIBSVM", *found.judged) if (j := found.judged.get(name))), None)
        sizes = (f"{best.n_sv:,}", f"{best.n_bounded:,}") if best else ("", "")
        rows.append(
            (
                found.trial.case.name,
                f"{found.n_rows:,}" if found.n_rows else found.cannot and "not run",
                f"{found.trial.C:g}",
                f"{found.trial.gamma:.4g}",
                sizes[0],
                *((f"{found.trial.paper_sv:,}",) if paper else ()),
                sizes[1],
                *(cell(found, way) for way in ways),
            )
        )
    return rows


def cell(found: Found, way: str) -> str:
    """Seconds of a way, and in how many chunks."""
    run = found.run(way)
    if run is None:
        return ""
    if run.seconds is None:
        return stopped_mark(run.cannot)
    chunks = run.results[-1]["chunks"]
    return f"{run.seconds:.3g}" + (f" ({chunks})" if chunks else "") + (" !" if way in found.wrong() else "")


def stopped_mark(reason: str) -> str:
    """'> 60': not done after 60 s."""
    if reason.startswith("not done after"):
        return f"> {reason.split()[3]}"
    return "stopped" if "stopped" in reason else "-"


def map_tables(results: list[Found]) -> list[list[tuple[str, ...]]]:
    """A table for each kind of data: rows by C, the fastest way in each place, and the next as its multiple."""
    tables = []
    for kind, group in groupby(results, key=lambda found: found.trial.case.name.split("-")[0]):
        places = {(found.trial.case.rows, found.trial.C): found for found in group}
        costs = sorted({C for _, C in places})
        rows = [(f"{kind}, n", *(f"C={C:g}" for C in costs))]
        for n in sorted({n for n, _ in places}):
            rows.append((f"{n:,}", *(fastest(places.get((n, C))) for C in costs)))
        tables.append(rows)
    return tables


def fastest(found: Found | None) -> str:
    """'chunked 1.2 s; smo x 3.4'"""
    order = sorted((run.seconds, run.name) for run in found.runs if run.results) if found else []
    if not order:
        return "-"
    (best, name), *others = order
    return f"{name} {best:.3g} s" + "".join(f"; {other} x {s / best:.1f}" for s, other in others[:1] if best)


def markdown(results: list[Found], parts: tuple[Part, ...]) -> str:
    lines = []
    for part in parts:
        of_part = [found for found in results if found.part == part.name]
        if not of_part:
            continue
        lines += [f"### {part.title}", ""]
        for rows in map_tables(of_part) if part.grid else [seconds_rows(of_part)]:
            lines += [*pipes(rows), ""]
        notes = {f"{found.trial.case.name}: {found.trial.note}" for found in of_part if found.trial.note}
        notes |= {f"{found.trial.case.name}: not run: {found.cannot}" for found in of_part if found.cannot}
        notes |= {f"{found.trial.case.name}: {line.strip()}" for found in of_part for line in remarks(found)}
        lines += [*(f"- {note}" for note in sorted(notes)), ""]
        if not part.grid:
            long = [(f.trial.case.name, *row) for f in of_part for row in long_rows(f)]
            lines += [*pipes([("", *LONG), *long]), ""]
    return "\n".join(lines)
