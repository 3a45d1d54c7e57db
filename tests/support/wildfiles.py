"""Files of all formats, valid or with one error that somebody who knows the format could make.

Valid parts are spelled in many ways, and errors are small enough to get past the parser.
"""

import hashlib
import json
from itertools import pairwise

LABELS = [("1", "-1"), ("+1", "-1"), ("0", "1"), ("1", "2", "3"), ("1.0", "-1.0"), ("-1", "1"), ("7", "2", "9", "-3")]
KERNELS = {  # keyword: its header lines
    "linear": {},
    "polynomial": {"degree": ("2", "3", "0"), "gamma": ("0.5", "1"), "coef0": ("0", "1", "-1")},
    "rbf": {"gamma": ("0.5", "1e-3", "10")},
    "sigmoid": {"gamma": ("0.5", "0.1"), "coef0": ("0", "-1")},
}
TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")


def spelled(wild, value):
    """A number in one of the forms that C and libsvmx read."""
    r = wild.random
    ways = [repr(value), f"{value:.6g}", f"{value:.17g}", f"{value:e}", f"{value:E}", f"{value:+.8g}", f"{value:.3f}"]
    ways += [f"{value:.4f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.0f}."]
    return r.choice(ways)


def right_data(wild, regression=None):
    """A data file that LIBSVM also accepts: few rows, some of them empty, repeated or far apart."""
    r = wild.random
    labels = r.choice(LABELS)
    real = r.random() < 0.2 if regression is None else regression
    scale = r.choice([1, 1, 1, 1, 1e-3, 1e3])
    n_features, lines = r.randrange(1, 7), []
    step = r.choice([1, 1, 1, 7, 1000])
    for i in range(r.randrange(4, 40)):
        if lines and r.random() < 0.05:
            lines.append(r.choice(lines))
            continue
        label = spelled(wild, r.gauss(0, 3)) if real else labels[i % len(labels)] if i < 4 else r.choice(labels)
        words = [label]
        for k in range(1, n_features + 1):
            if r.random() < 0.8:
                words.append(f"{k * step}:{spelled(wild, scale * (r.gauss(0, 1) + (label == labels[0])))}")
        lines.append(r.choice([" ", " ", "\t"]).join(words) + r.choice(["", "", " "]))
    return ("\n".join(lines) + "\n").encode()


def near_data(wild):
    """``right_data``, in half of the cases with one change."""
    content = right_data(wild)
    return content if wild.random.random() < 0.5 else wild.mutated(content, 1)


def right_model(wild):
    """(lines of a header, rows of support vectors) of a model that LIBSVM loads."""
    r = wild.random
    kind, kernel = r.choice(TYPES), r.choice(list(KERNELS))
    classify = kind.endswith("svc")
    labels = r.sample(range(-9, 10), r.choice([2, 2, 3, 4])) if classify else []
    k = len(labels) or 2
    counts = [r.randrange(4) for _ in range(k)] if classify else [r.randrange(9)]
    pairs = k * (k - 1) // 2
    header = {"svm_type": [kind], "kernel_type": [kernel]}
    header |= {name: [r.choice(values)] for name, values in KERNELS[kernel].items()}
    header |= {"nr_class": [str(k)], "total_sv": [str(sum(counts))]}
    header["rho"] = [f"{r.gauss(0, 1):.17g}" for _ in range(pairs)]
    if classify:
        header["label"] = [str(label) for label in labels]
    if classify and r.random() < 0.5:
        header["probA"] = [f"{r.gauss(-2, 1):.17g}" for _ in range(pairs)]
        header["probB"] = [f"{r.gauss(0, 1):.17g}" for _ in range(pairs)]
    elif kind.endswith("svr") and r.random() < 0.5:
        header["probA"] = [f"{abs(r.gauss(0, 1)):.17g}"]
    if classify:
        header["nr_sv"] = [str(count) for count in counts]
    rows = []
    for _ in range(sum(counts)):
        coefficients = [f"{r.gauss(0, 1):.17g}" for _ in range(k - 1)]
        features = [f"{index}:{r.gauss(0, 1):.8g}" for index in range(1, 7) if r.random() < 0.7]
        rows.append([*coefficients, *features])
    return [(key, *values) for key, values in header.items()], rows


def model_bytes(header, rows):
    lines = [" ".join(line) for line in header] + ["SV"] + [" ".join(row) + " " for row in rows]
    return ("\n".join(lines) + "\n").encode()


def near_model(wild):
    """A model with one change, in the header, counts, a vector, or bytes; or unchanged."""
    r = wild.random
    header, rows = right_model(wild)
    if r.random() < 0.4:
        return model_bytes(header, rows)
    header, at = list(header), r.randrange(len(header))
    key, *values = header[at]
    kind = r.choice(
        ["drop", "twice", "order", "value", "more", "fewer", "vector", "vector", "row", "type", "bytes", "blank", "sv"]
    )
    if kind == "drop":
        del header[at]
    elif kind == "twice":
        header.insert(r.randrange(len(header)), header[at])
    elif kind == "order":
        r.shuffle(header)
    elif kind == "value":
        values[r.randrange(len(values))] = r.choice([wild.number() or "0", "0", "2", "3", "-1"])
        header[at] = (key, *values)
    elif kind == "more":
        header[at] = (key, *values, r.choice(values))
    elif kind == "fewer":
        header[at] = (key, *values[:-1])
    elif kind == "vector" and rows:
        row = r.choice(rows)
        row[r.randrange(len(row))] = r.choice([wild.number() or "0", "0:1", "3:1", "2147483647:1", ":", "1:", "5"])
    elif kind == "row" and rows:
        r.choice([rows.pop, lambda: rows.append(rows[-1])])()
    elif kind == "type":
        header[0] = ("svm_type", r.choice(TYPES))
    elif kind == "sv":
        header.insert(r.randrange(len(header)), ("SV",))
    content = model_bytes(header, rows)
    if kind == "bytes":
        return wild.mutated(content, 1)
    return content.replace(b"\n", b"\n\n", 1) if kind == "blank" else content


def near_ranges(wild, content):
    """A range file with other limits, missing or unordered features, labels, or another change."""
    r = wild.random
    lines = content.decode().splitlines()
    kind = r.choice(["right", "limits", "drop", "order", "label", "value", "bytes"])
    if kind == "limits":
        lines[1] = r.choice(["0 1", "-5 5", "1 1", "1 -1", "0 1e308", "-1e308 1e308", "nan 1", "0"])
    elif kind == "drop":
        del lines[r.randrange(len(lines))]
    elif kind == "order":
        a, b = (r.randrange(len(lines)) for _ in range(2))
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == "label":
        limits = [r.choice(["0 1", "-1 1", "1 1", "5 2"]) for _ in range(2)]
        lines = [*r.choice([["y", *limits], ["y", limits[0]], ["y"]]), *lines]
    elif kind == "value":
        at = r.randrange(2, len(lines))
        words = lines[at].split()
        words[r.randrange(3)] = r.choice([wild.number() or "0", "1", "0"])
        lines[at] = " ".join(words)
    found = "".join(f"{line}\n" for line in lines).encode()
    return wild.mutated(found, 1) if kind == "bytes" else found


def near_results(wild, content):
    """(a results file of a grid, whether lines were only left out or moved, so that the rates are the same)."""
    r = wild.random
    lines = content.splitlines(keepends=True)
    kind = r.choice(["cut", "points", "order", "headless", "described", "value", "bytes"])
    if kind == "cut":
        return content[: r.randrange(len(content) + 1)], True
    if kind == "points":
        head, points = lines[:1], [lines[k : k + 2] for k in range(1, len(lines), 2)]
        kept = r.sample(points, r.randrange(len(points)))
        return b"".join(head + [line for point in kept for line in point]), True
    if kind == "order":
        head, points = lines[0], lines[1:]
        r.shuffle(points)
        return head + b"".join(points), True
    if kind == "headless":
        return b"".join(lines[1:]), True
    if kind == "described":
        name, _, text = lines[0].partition(b" {")
        described = json.loads(b"{" + text)
        odd = [None, -1, 3, "x", [], {}, [[]], 1e308]
        described[r.choice(list(described))] = r.choice(odd)
        text = r.choice([json.dumps(described), json.dumps(r.choice(odd)), "[" * r.choice([3, 100000]), ""])
        return b"".join([name, b" ", text.encode(), b"\n", *lines[1:]]), False
    if kind == "value":
        at = r.randrange(1, len(lines))
        words = lines[at].split(b"=")
        words[r.randrange(1, len(words))] = (wild.number() + r.choice([" rate", "\n", " log2g"])).encode()
        lines[at] = b"=".join(words)
        return b"".join(lines), False
    return wild.mutated(content, 1), False


def signed(content):
    """Appends the SHA-256 of the content."""
    return content + hashlib.sha256(content).digest()


def near_start(wild, content):
    """(a column's start file, whether it must be refused): damaged, or changed with a correct checksum."""
    r = wild.random
    if r.random() < 0.4:
        changed = wild.mutated(content, 1)
        return changed, changed != content
    first, text, arrays = content[:-32].split(b"\n", 2)
    described = json.loads(text)
    kind = r.choice(["entry", "fold", "sizes", "arrays", "length"])
    odd = [None, -1, 0, 2**31, 2**70, 1e308, float("inf"), float("nan"), "x", [], {}, [[]], [[[]]], [0.5, 0.5], True]
    if kind == "entry":
        described[r.choice(list(described))] = r.choice(odd)
    elif kind == "fold":
        fold = r.choice(described["folds"])
        r.choice([lambda: fold.pop(), lambda: fold.append(r.choice(odd)), described["folds"].pop])()
    elif kind == "sizes":
        entry = r.choice(r.choice(described["folds"]))
        entry[r.randrange(len(entry))] = r.choice([*odd, 8, 16, 7])
    elif kind == "arrays":
        at = r.randrange(len(arrays) // 8) * 8
        arrays = arrays[:at] + r.choice([b"\0" * 8, b"\xff" * 8, r.randbytes(8)]) + arrays[at + 8 :]
    else:
        arrays = r.choice([arrays[: r.randrange(len(arrays))], arrays + b"\0" * r.choice([1, 8]), b""])
    text = json.dumps(described).encode()
    magic = first.rsplit(b" ", 1)[0]
    return signed(b"%s %d\n%s\n%s" % (magic, len(text) + 1, text, arrays)), False


def streams(wild, content, packs):
    """The content in one to four streams of one format, some of them empty, like files of pbzip2 and cat."""
    r = wild.random
    pack, cuts = r.choice(packs), sorted(r.randrange(len(content) + 1) for _ in range(r.randrange(4)))
    ends = [0, *cuts, len(content)]
    return [pack(content[a:b]) for a, b in pairwise(ends)]
