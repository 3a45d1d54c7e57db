"""Representatives of parametrized tests: few combinations that cover all values, or all pairs of values."""

from collections import defaultdict
from functools import reduce
from heapq import heapify, heappop, heapreplace
from itertools import combinations
from math import prod
from operator import or_

import pytest


def quick_first(values, n=1, names=1):
    """Values of a parametrize; all after the first ``n`` are exhaustive: they repeat the same test, longer.

    With several names, each value is a tuple.
    """
    rest = [value if names > 1 else (value,) for value in values[n:]]
    return [*values[:n], *(pytest.param(*value, marks=pytest.mark.exhaustive) for value in rest)]


def parameters_of(family):
    """The parameters of a test with these cases: names given by one parametrize are one parameter."""
    marks = [mark.args[0] for mark in family[0].iter_markers("parametrize")]
    together = [tuple(n.strip() for n in (m.split(",") if isinstance(m, str) else m)) for m in marks]
    named = {name for names in together for name in names}
    return [*together, *((name,) for name in family[0].callspec.params if name not in named)]


def cover(combos, strength):
    """Positions of combinations that together cover all tuples of ``strength`` values that occur; greedy.

    The gain of a combination can only fall as others are chosen. So the top of a heap by earlier gains is the best of
    all if its gain is still the same.
    """
    offered = parts_of(combos, strength)
    heap = [(-parts.bit_count(), k) for k, parts in enumerate(offered)]
    heapify(heap)
    missing, chosen = reduce(or_, offered, 0), set()
    while missing:
        before, k = heap[0]
        offered[k] &= missing
        if offered[k].bit_count() == -before:
            chosen.add(k)
            missing ^= offered[k]
            heappop(heap)
        else:
            heapreplace(heap, (-offered[k].bit_count(), k))
    return chosen


def parts_of(combos, strength):
    """For each combination the sets of ``strength`` values in it, as bits: each set of columns has a bit for each
    choice of their values, earlier values first."""
    numbers = [
        {value: number for number, value in enumerate(dict.fromkeys(column))} for column in zip(*combos, strict=True)
    ]
    rows = [[of[value] for of, value in zip(numbers, combo, strict=True)] for combo in combos]
    offered, first = [0] * len(combos), 0
    for columns in combinations(range(len(numbers)), min(strength, len(numbers))):
        for k, row in enumerate(rows):
            bit = 0
            for column in columns:
                bit = bit * len(numbers[column]) + row[column]
            offered[k] |= 1 << (first + bit)
        first += prod(len(numbers[column]) for column in columns)
    return offered


def representatives(items):
    """(cases that always run, cases only with --exhaustive); conftest explains the choice."""
    families, kept = defaultdict(list), set()
    for item in items:
        if item.get_closest_marker("exhaustive") is None:
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        parameters = parameters_of(family) if hasattr(family[0], "callspec") else []
        each_value = family[0].get_closest_marker("each_value")
        if parameters and (len(parameters) > 2 or each_value):
            combos = []
            for item in family:
                values = item.callspec.params
                combos.append([tuple(id(values[name]) for name in names) for names in parameters])
            kept.update(family[k] for k in cover(combos, 1 if each_value else 2))
        else:
            kept.update(family)
    return [item for item in items if item in kept], [item for item in items if item not in kept]


def done_alike(kept, left_out):
    """(those that a run with --exhaustive only repeats, those that it adds or that do more in it)."""
    more = {item for item in kept if "exhaustive" in item.fixturenames or hasattr(item.module, "examples")}
    return [item for item in kept if item not in more], [*left_out, *(item for item in kept if item in more)]
