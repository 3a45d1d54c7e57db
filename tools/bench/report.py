"""Tables of trainings, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tools.bench.training import ORACLE, OURS

if TYPE_CHECKING:
    from tools.bench.peers import Solver
    from tools.bench.roofline import Limit
    from tools.bench.training import CaseResult, Entry

MEGABYTE = 1 << 20
NANOSECONDS = 1e9
GIGABYTE = 1e9
COLUMNS = ("solver", "thr", "median s", "min-max", "ratio", "iterations", "SV", "objective", "gap", "peak MB", "+MB")


def machine_lines(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version or '(missing)'}" for name, version in machine["packages"].items())
    load = "" if machine["load"] is None else f"; load {machine['load'][0]:.1f}"
    return (
        f"{machine['processor']}, {machine['threads']} threads{load}; {machine['system']}; Python {machine['python']}\n"
        f"{versions}"
    )


def heading(machine: dict[str, Any]) -> str:
    return (
        f"{machine_lines(machine)}\n"
        "Each training runs in a new process, without a warm-up; data are read and converted before the clock starts.\n"
        "ratio: time as a multiple of libsvmx with one thread. Objective and KKT gap over all rows are computed from\n"
        "data and coefficients; iterations are each solver's own. +MB: peak while training less what the data took."
    )


def case_table(found: CaseResult) -> str:
    """All solvers on one case."""
    case = found.case
    changes = {
        f", first {case.rows} rows": case.rows,
        ", labels even/odd": case.parity,
        f", values times {case.factor:g}": case.factor != 1,
    }
    change = "".join(text for text, applies in changes.items() if applies)
    title = f"{case.name}: {case.data}{change}, {case.options or 'defaults'}"
    if found.cannot:
        return f"{title}\n  NOT RUN: {found.cannot}"
    rows = [COLUMNS, *(entry_cells(found, e) for e in found.entries if e.times)]
    lines = [f"{title} ({found.n_rows:,} x {found.n_columns:,})", *aligned(rows)]
    lines += [
        f"  {e.solver.label}: NOT RUN{' again' if e.times else ''}: {e.cannot}" for e in found.entries if e.cannot
    ]
    lines += [f"  {e.solver.label}: {e.result['note']}" for e in found.entries if e.result.get("note")]
    ours = found.entry(OURS)
    if ours:
        lines.append(f"  libsvmx's model beside LIBSVM's: {found.equality(ours) or 'not compared'}; " + counts(ours))
    if found.limit and ours and ours.seconds is not None:
        lines.append(roofline(found.limit, ours.seconds))
    return "\n".join(lines)


def entry_cells(found: CaseResult, entry: Entry) -> tuple[str, ...]:
    result, certificate, ratio = entry.result, entry.certificate, found.ratio(entry)
    differs = " DIFFERS" if found.equality(entry) == "DIFFER" else ""
    return (
        entry.solver.label + differs,
        str(entry.threads),
        f"{entry.seconds:.3f}",
        f"{min(entry.times):.3f}-{max(entry.times):.3f}" if len(entry.times) > 1 else "once",
        "" if ratio is None else f"{ratio:.2f}",
        f"{result['iterations']:,}",
        f"{result['n_sv']:,}",
        f"{certificate.objective:.8g}" if certificate else "",
        f"{certificate.gap:.2e}" if certificate else "",
        f"{result['peak_bytes'] / MEGABYTE:.0f}",
        f"{result['training_bytes'] / MEGABYTE:.0f}",
    )


def roofline(limit: Limit, seconds: float) -> str:
    basis = "rows used" if limit.rows_known else "support vectors instead of rows used"
    return (
        f"  limit {limit.seconds:.4f} s = {limit.rows_seconds:.4f} for rows ({basis}, "
        f"{limit.value_seconds * NANOSECONDS:.2f} ns a value) + {limit.steps_seconds:.4f} for steps "
        f"({limit.bandwidth / GIGABYTE:.1f} GB/s); libsvmx takes {seconds / limit.seconds:.1f} x of limit"
    )


def counts(ours: Entry) -> str:
    names = {
        "rows_computed": "{:,} kernel rows",
        "values_computed": "{:.4g} values",
        "row_bytes_written": "{:.4g} bytes of rows written",
        "row_bytes_read_at_most": "at most {:.4g} read",
    }
    told = ours.result["counts"]
    return ", ".join(text.format(told[name]) for name, text in names.items() if name in told)


def summary(results: list[CaseResult], solvers: list[Solver]) -> str:
    """Ratios of every case, LIBSVM with one thread first; the last line is their geometric mean."""
    ordered = sorted((s for s in solvers if s.name != OURS), key=lambda s: s.name != ORACLE)
    rows = [("ratio to libsvmx, 1 thread", *(s.name for s in ordered), "models")]
    columns: dict[str, list[float]] = {s.name: [] for s in ordered}
    for found in results:
        cells = []
        for s in ordered:
            entry = found.entry(s.name)
            ratio = found.ratio(entry) if entry else None
            if ratio is not None:
                columns[s.name].append(ratio)
            cells.append("-" if ratio is None else f"{ratio:.2f}")
        ours = found.entry(OURS)
        rows.append((found.case.name, *cells, (found.equality(ours) if ours else "") or "-"))
    means = [f"{math.exp(math.fsum(map(math.log, c)) / len(c)):.2f}" if c else "-" for c in columns.values()]
    return "\n".join(aligned([*rows, ("geometric mean", *means, "")]))


def markdown(results: list[CaseResult]) -> str:
    """The table of docs/compatibility.md: libsvmx beside LIBSVM, one thread each."""
    lines = [
        "| set | rows | options | iterations | support vectors | model files | LIBSVM s | libsvmx s | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for found in results:
        ours, oracle = found.entry(OURS), found.entry(ORACLE)
        name = found.case.data if found.case.factor == 1 else f"{found.case.data} times {found.case.factor:g}"
        if not (ours and oracle):
            reason = found.cannot or "; ".join(e.cannot for e in found.entries if e.cannot) or "not both measured"
            lines.append(f"| {name} | | `{found.case.options or 'defaults'}` | | | {reason} | | | |")
            continue
        lines.append(
            f"| {name} | {found.n_rows} | `{found.case.options or 'defaults'}` | {ours.result['iterations']:,} | "
            f"{ours.result['n_sv']:,} | {'equal' if found.equality(ours) == 'equal' else '**differ**'} | "
            f"{oracle.seconds:.3f} | {ours.seconds:.3f} | {found.ratio(oracle):.1f} |"
        )
    return "\n".join(lines) + "\n"


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns of equal width; the first is flush left, numbers are flush right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
