"""Representatives of parametrized tests: few combinations in which all values, or all pairs of values, occur."""

from collections import defaultdict
from itertools import combinations


def axes(item):
    """What varies in a test: names that one parametrize gives together are one parameter. {names: identities}"""
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [tuple(n.strip() for n in (m.split(",") if isinstance(m, str) else m)) for m in marks]
    named = {name for names in together for name in names}
    values = item.callspec.params
    return {
        names: tuple(id(values[name]) for name in names)
        for names in [*together, *((name,) for name in values if name not in named)]
    }


def cover(combos, strength):
    """Positions of combinations in which any ``strength`` values that occur together do so still; greedy."""
    offered = [set(combinations(sorted(combo.items()), min(strength, len(combo)))) for combo in combos]
    missing, chosen = set().union(*offered), []
    while missing:
        best = max(range(len(offered)), key=lambda k: len(offered[k] & missing))
        missing -= offered[best]
        chosen.append(best)
    return set(chosen)


def representatives(items):
    """(those that run always, those that run with --exhaustive only); conftest says how they are chosen."""
    families, kept = defaultdict(list), set()
    for item in items:
        if item.get_closest_marker("exhaustive") is None:
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        each_value = family[0].get_closest_marker("each_value")
        if not hasattr(family[0], "callspec"):
            kept.update(family)
            continue
        combos = [axes(item) for item in family]
        if len(combos[0]) > 2 or each_value:
            kept.update(family[k] for k in cover(combos, 1 if each_value else 2))
        else:
            kept.update(family)
    return [item for item in items if item in kept], [item for item in items if item not in kept]


def done_alike(kept, left_out):
    """(those that a run with --exhaustive only repeats, those that it adds or that do more in it)."""
    more = {item for item in kept if "exhaustive" in item.fixturenames or hasattr(item.module, "examples")}
    return [item for item in kept if item not in more], [*left_out, *(item for item in kept if item in more)]
