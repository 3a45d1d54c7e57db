"""Tables of interior.py: each problem or set, a part side by side, and what was to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench.interiorcases import ACCURACIES, FACTORS, LARGEST, PAPER, PARTS, SHARES, UNREDUCED, USUAL
from tools.bench.report import aligned
from tools.bench.seeding import pipes
from tools.bench.turns import refusals

if TYPE_CHECKING:
    from tools.bench.interior import Found

Rows = list[tuple[str, ...]]

# What was to be shown.
SPEEDUP, PROBLEMS_WITH_IT, SAME_ITERATIONS = 1.5, 3, 0.2
EXPONENT = 1.15
OVER_LIBSVM, AIM = 80, 200
OVER_LIBLINEAR = 2.0
SAME_OPTIMUM, SMALL_RESIDUAL, PEER_GAP = 1e-6, 1e-7, 1e-6
SAME_ACCURACY = 0.001


def title(found: Found) -> str:
    size = f" ({found.n_rows:,} x {found.n_columns:,})" if found.n_rows else ""
    return f"{found.name}{size}" + (f"; {found.note}" if found.note else "")


def long_table(found: Found) -> str:
    lines = [f"  NOT RUN: {found.cannot}"] if found.cannot else []
    for rows in LONG.get(found.part, lambda found: [])(found) if found.measured() else []:
        lines += aligned(rows)
    lines += ["  " + line for line in refusals(found.runs)] if not found.cannot else []
    if found.wrong():
        lines.append(f"  NOT OPTIMAL: {'; '.join(found.wrong())}")
    return "\n".join([title(found), *lines])


def summary(results: list[Found], part: str) -> str:
    return "\n".join([PARTS[part], *aligned(SHORT[part](results)), *TARGETS.get(part, lambda results: [])(results)])


def markdown(results: list[Found]) -> str:
    lines = []
    for part, name in PARTS.items():
        of_part = [found for found in results if found.part == part]
        if not of_part:
            continue
        lines += [f"### {name}", "", *pipes(SHORT[part](of_part)), ""]
        lines += [f"- {line.strip()}" for line in TARGETS.get(part, lambda results: [])(of_part)]
        lines += [f"- {found.name}: {found.note}" for found in of_part if found.note]
        lines += [f"- {found.name}: not run: {found.cannot}" for found in of_part if found.cannot]
        lines += [f"- {found.name}: {line}" for found in of_part if not found.cannot for line in refusals(found.runs)]
        for found in of_part:
            for rows in LONG.get(part, lambda found: [])(found) if found.measured() else []:
                lines += ["", title(found), "", *pipes(rows)]
        lines.append("")
    return "\n".join(lines)


def verdict(text: str, met: bool) -> str:
    return f"  {text}: {'met' if met else 'NOT MET'}"


# ---- mapped problems -----------------------------------------------------------------------------


def of_variant(found: Found, family: str, share: float) -> Any:
    """A variant's run, None if it is not there."""
    runs = found.last("crsvm").get("runs", ())
    return next((run for run in runs if run["family"] == family and run["upper"] == share), None)


def problem_rows(results: list[Found]) -> Rows:
    rows = [("", "m", "+/-", "inputs", "features", "SV (+/-)", "on planes (+/-)", "in the paper")]
    for found in results:
        told, run = found.last("crsvm"), of_variant(found, UNREDUCED.family, 1.0)
        if not run:
            rows.append((found.name, *[""] * 7))
            continue
        counts = [f"{sum(pair):,} ({pair[0]:,}/{pair[1]:,})" for pair in (run["n_sv"], run["n_free"])]
        classes = f"{told['positive']:,}/{told['rows'] - told['positive']:,}"
        sizes = (f"{told['rows']:,}", classes, f"{told['inputs']:,}", f"{told['features']:,}")
        rows.append((found.name, *sizes, *counts, PAPER[found.name]))
    return rows


def variant_tables(found: Found) -> list[Rows]:
    """Seconds, how many times faster than unreduced, and iterations; a line for each variant, a column for each q_U."""
    families = dict.fromkeys(run["family"] for run in found.last("crsvm")["runs"])
    rows = [("q_U", *(f"m/{1 / share:g}" if share < 1 else "m" for share in SHARES))]
    for family in families:
        rows.append((family, *(variant_cell(of_variant(found, family, share)) for share in SHARES)))
    return [rows]


def variant_cell(run: Any) -> str:
    """'0.52 s x 1.9, 24': seconds, times faster, iterations."""
    if run is None:
        return ""
    mark = "" if run["status"] == "converged" else f" {run['status']}"
    return f"{run['median']:.2f} s x {run['ratio']:.2f}, {run['iterations']}{mark}"


def variant_rows(results: list[Found]) -> Rows:
    rows = [("", "unreduced", "iterations", *("" for _ in SHARES))]
    rows[0] = ("", "unreduced", *(f"reduced, q_U = m/{1 / share:g}" for share in SHARES))
    for found in results:
        cells = (variant_cell(of_variant(found, USUAL.family, share)) for share in SHARES)
        rows.append((found.name, variant_cell(of_variant(found, UNREDUCED.family, 1.0)), *cells))
    return rows


def variant_targets(results: list[Found]) -> list[str]:
    """Of the default variant with q_U = m, and of the fastest with any q_U that takes as many iterations."""
    lines = []
    for label, shares in (("q_U = m", SHARES[:1]), ("the best q_U of each", SHARES)):
        good = []
        for found in results:
            whole = of_variant(found, UNREDUCED.family, 1.0)
            tried = [of_variant(found, USUAL.family, share) for share in shares]
            same = [run for run in tried if run and whole and alike(run["iterations"], whole["iterations"])]
            if same and max(run["ratio"] for run in same) >= SPEEDUP:
                good.append(found.name)
        text = f"reduced ({USUAL.family}, {label}) {SPEEDUP:g} times as fast in as many iterations"
        text += f" (+-{SAME_ITERATIONS:.0%}) on {PROBLEMS_WITH_IT} problems: on {', '.join(good) or 'none'}"
        lines.append(verdict(text, len(good) >= PROBLEMS_WITH_IT))
    return lines


def alike(iterations: int, others: int) -> bool:
    return abs(iterations - others) <= SAME_ITERATIONS * others


def log_tables(found: Found) -> list[Rows]:
    """|Q| and mu of each iteration."""
    runs = found.last("crsvm")["runs"]
    heads = [run["family"] if run["family"] == UNREDUCED.family else f"q_U = m/{1 / run['upper']:g}" for run in runs]
    rows = [("", *(f"{head}: {what}" for head in heads for what in ("|Q|", "mu")))]
    for k in range(max(len(run["log"]) for run in runs)):
        entries = [run["log"][k] if k < len(run["log"]) else None for run in runs]
        cells = [(f"{entry[1]:,}" if entry[1] else "", f"{entry[0]:.1e}") if entry else ("", "") for entry in entries]
        rows.append((str(k), *(cell for pair in cells for cell in pair)))
    return [rows]


def log_rows(results: list[Found]) -> Rows:
    rows = [("", "q_U", "iterations", "|Q| in all / (iterations m)", "last |Q|", "last mu")]
    for found in results:
        for run in found.last("crsvm").get("runs", ()):
            sizes = [patterns for _, patterns in run["log"][1:]]
            share = sum(sizes) / max(len(sizes) * found.n_rows, 1)
            upper = "unreduced" if run["family"] == UNREDUCED.family else f"m/{1 / run['upper']:g}"
            last = f"{sizes[-1]:,}" if sizes else ""
            rows.append((found.name, upper, str(run["iterations"]), f"{share:.2f}", last, f"{run['log'][-1][0]:.1e}"))
    return rows


# ---- sets ----------------------------------------------------------------------------------------


def seconds(found: Found, way: str) -> str:
    run = found.run(way)
    if run is None:
        return ""
    return f"{run.seconds:.3f}" if run.seconds is not None else run.cannot


def ratio(found: Found, way: str) -> float | None:
    """A peer's time as a multiple of crsvm's."""
    ours, theirs = found.run("crsvm"), found.run(way)
    if not (ours and theirs and ours.results and theirs.results):
        return None
    return theirs.seconds / ours.seconds


def adult_rows(results: list[Found]) -> Rows:
    rows = [("", "m", "crsvm s", "iterations", "LIBSVM s", "iterations", "ratio", "objective", "LIBSVM's above it")]
    for found in results:
        ours, theirs = found.last("crsvm"), found.last("libsvm")
        times = ratio(found, "libsvm")
        above = (theirs["objective"] - ours["objective"]) / abs(ours["objective"]) if ours and theirs else None
        rows.append(
            (
                found.name,
                f"{found.n_rows:,}" if found.n_rows else "not run",
                seconds(found, "crsvm"),
                str(ours.get("iterations", "")),
                seconds(found, "libsvm"),
                f"{theirs['iterations']:,}" if theirs else "",
                f"{times:.1f}" if times else "",
                f"{ours['objective']:.9g}" if ours else "",
                "" if above is None else f"{above:.1e}",
            )
        )
    return rows


def exponent(results: list[Found], way: str) -> float | None:
    """p of the least-squares fit of log seconds by p log m + q; None for fewer than 3 sets."""
    points = [(found.n_rows, found.run(way).seconds) for found in results if found.last(way)]
    if len({m for m, _ in points}) < 3:
        return None
    m, times = np.log(np.array(points)).T
    return float(np.polyfit(m, times, 1)[0])


def adult_targets(results: list[Found]) -> list[str]:
    lines = []
    powers = {way: exponent(results, way) for way in ("crsvm", "libsvm")}
    if powers["crsvm"] is not None:
        told = "; ".join(f"{way} m^{power:.2f}" for way, power in powers.items() if power is not None)
        lines.append(verdict(f"time grows as {told}; exponent at most {EXPONENT:g}", powers["crsvm"] <= EXPONENT))
    largest = next((found for found in results if found.name == LARGEST and found.last("crsvm")), None)
    if largest is None:
        return lines
    times = ratio(largest, "libsvm")
    if times is not None:
        same = largest.last("crsvm")["objective"] <= largest.last("libsvm")["objective"]
        text = f"{LARGEST}: {times:.0f} times LIBSVM at {'no worse' if same else 'a WORSE'} objective"
        lines.append(verdict(f"{text}, at least {OVER_LIBSVM}", same and times >= OVER_LIBSVM))
        lines.append(verdict(f"{text}, aim {AIM}", same and times >= AIM))
    if largest.last("liblinear"):
        lines += liblinear_targets(largest)
    return lines


def liblinear_targets(found: Found) -> list[str]:
    """Time to a primal objective, relatively above the best found; each solver's own problem."""
    lines = [
        "  LIBLINEAR's problem regularizes the bias, so its objective is another one; the optimum of either is the "
        "best that was found of it"
    ]
    ours, theirs = found.last("crsvm"), found.last("liblinear")
    usual = (found.run("crsvm").seconds, ours["primal"])
    curves = [*ours["curve"], usual], theirs["curve"]
    for accuracy in ACCURACIES:
        own, other = (reached(curve, accuracy) for curve in curves)
        times = {"crsvm": own, "LIBLINEAR": other}
        told = [f"{label} {'not reached' if s is None else f'{s:.3f} s'}" for label, s in times.items()]
        met = own is not None and (other is None or own <= OVER_LIBLINEAR * other)
        lines.append(verdict(f"to {accuracy:.0e}: {', '.join(told)}; at most {OVER_LIBLINEAR:g} times", met))
    return lines


def reached(curve: Any, accuracy: float) -> float | None:
    """The least seconds of a curve's points at or below (1 + accuracy) times its best objective."""
    best = min(primal for _, primal in curve)
    return min((s for s, primal in curve if primal <= best * (1 + accuracy) and (accuracy or primal)), default=None)


def curve_tables(found: Found) -> list[Rows]:
    """Objectives by time, of our tolerances and of LIBLINEAR's passes."""
    tables = []
    for way, label in (("crsvm", "crsvm at looser tolerances"), ("liblinear", "LIBLINEAR, 1, 2, 4, ... passes")):
        curve = found.last(way).get("curve")
        if curve:
            best = min(primal for _, primal in curve)
            rows = [(label, "seconds", "above its best")]
            rows += [(str(k + 1), f"{s:.3f}", f"{primal / best - 1:.1e}") for k, (s, primal) in enumerate(curve)]
            tables.append(rows)
    return tables


def lowrank_rows(results: list[Found]) -> Rows:
    rows = [("", "seconds", "of the factor", "trace error", "iterations", "SV", "accuracy", "by the factor")]
    for found in results:
        for run in found.runs:
            last = found.last(run.name)
            if not last:
                rows.append((run.name, run.cannot, *[""] * 6))
                continue
            accuracy = last.get("accuracy", {})
            rows.append(
                (
                    run.name,
                    f"{last['seconds']:.2f}",
                    f"{last['factor_seconds']:.2f}" if "factor_seconds" in last else "",
                    f"{last['trace_error']:.2e}" if "trace_error" in last else "",
                    f"{last['iterations']:,}",
                    f"{last['n_sv']:,}",
                    f"{accuracy['kernel']:.3%}" if accuracy else same_model(found),
                    f"{accuracy['factor']:.3%}" if "factor" in accuracy else "",
                )
            )
    return rows


def same_model(found: Found) -> str:
    """Of LIBSVM, which predicts as smo does if its model is the same."""
    same = found.last("smo").get("model_hash") == found.last("libsvm").get("model_hash")
    return "as smo" if same else "smo has ANOTHER model"


def lowrank_targets(results: list[Found]) -> list[str]:
    lines = []
    for found in results:
        exact, peer = found.last("smo"), found.last("libsvm")
        for name in (f"{method}, rank {rank}" for method, rank in FACTORS[:2]):
            last = found.last(name)
            if not (exact and last):
                continue
            off = {how: share - exact["accuracy"]["kernel"] for how, share in last["accuracy"].items()}
            told = ", ".join(f"{100 * difference:+.3f} % by the {how}" for how, difference in off.items())
            times = f"; {peer['seconds'] / last['seconds']:.0f} times LIBSVM" if peer else ""
            met = min(abs(difference) for difference in off.values()) <= SAME_ACCURACY
            lines.append(verdict(f"{name}: accuracy {told} beside LIBSVM's, {SAME_ACCURACY:.1%} allowed{times}", met))
    return lines


def oracle_rows(results: list[Found]) -> Rows:
    heads = ("|w - X'beta|", "|y'alpha|", "box", "gap", "crsvm s", "its s")
    rows = [("", "beside", "its gap", "objective", "above it", "decision values", "other sign", *heads)]
    for found in results:
        ours, told = found.last("crsvm"), found.told
        if not ours:
            rows.append((found.name, "not run", *[""] * 11))
            continue
        theirs = found.last(told["peer"]) if told else {}
        rows.append(
            (
                found.name,
                {"libsvm": "LIBSVM", "smo": "its steps, by smo"}.get(told.get("peer", ""), "none"),
                f"{theirs['gap']:.1e}" if theirs else "",
                f"{ours['objective']:.9g}",
                f"{told['excess']:.1e}" if told else "",
                f"{told['difference']:.1e}" if told else "",
                f"{told['otherwise']:,}" if told else "",
                *(f"{ours[key]:.1e}" for key in ("w", "sum", "box", "gap")),
                f"{ours['seconds']:.3f}",
                f"{theirs['seconds']:.3f}" if theirs else "",
            )
        )
    return rows


def oracle_targets(results: list[Found]) -> list[str]:
    """Sets where the peer itself is not at its optimum are named, and not judged but by our residuals."""
    solved = [found for found in results if found.last("crsvm")]
    judged = [found for found in solved if found.told and peer_gap(found) <= PEER_GAP]
    lines = []
    for key, text in (("excess", "objective"), ("difference", "decision values")):
        worst = max(judged, key=lambda found: abs(found.told[key]), default=None)
        if worst:
            told = f"{text} equal to {SAME_OPTIMUM:g}: at most {abs(worst.told[key]):.1e}, {worst.name}"
            lines.append(verdict(told, abs(worst.told[key]) <= SAME_OPTIMUM))
    left = [found for found in solved if found.told and found not in judged]
    if left:
        told = ", ".join(f"{found.name} (gap {peer_gap(found):.1e})" for found in left)
        text = f"where LIBSVM ends above {PEER_GAP:g}, by rounding of kernel values to float, ours is no worse: {told}"
        lines.append(verdict(text, all(found.told["excess"] <= SAME_OPTIMUM for found in left)))
    if solved:
        worst = max(solved, key=residual)
        told = f"KKT residuals at most {SMALL_RESIDUAL:g}: at most {residual(worst):.1e}, {worst.name}"
        lines.append(verdict(told, residual(worst) <= SMALL_RESIDUAL))
    return lines


def peer_gap(found: Found) -> float:
    return found.last(found.told["peer"])["gap"]


def residual(found: Found) -> float:
    return max(found.last("crsvm")[key] for key in ("w", "sum", "box", "gap"))


LONG = {"variants": variant_tables, "log": log_tables, "adult": curve_tables}
SHORT = {
    "problems": problem_rows,
    "variants": variant_rows,
    "log": log_rows,
    "adult": adult_rows,
    "lowrank": lowrank_rows,
    "oracle": oracle_rows,
}
TARGETS = {
    "variants": variant_targets,
    "adult": adult_targets,
    "lowrank": lowrank_targets,
    "oracle": oracle_targets,
}
