"""Option lines of every command: valid, or with a word missing, repeated, odd or misplaced.

The files d and e hold data, t and m training data and their model, s a state, r ranges; o1, o2, o3 are outputs.
"""

from support.wild import CHOICES, UNKNOWN

TRAIN = {name: CHOICES[name] for name in CHOICES if name not in ("--rank", "--low-rank", "--reduction")}
SOLVING = {name: CHOICES[name] for name in ("-t", "-g", "-d", "-e", "-m", "-h")}
SWITCHES = {"svmx-train": ("-q", "--loo", "--lenient"), "svmx-predict": ("-q", "--unlabeled", "--lenient")}
OPTIONS = {
    "svmx-train": TRAIN | {"--time-limit": ("100",), "--on-interrupt": ("save", "discard"), "--max-iter": ("2000",)},
    "svmx-predict": {"-b": "01", "--threads": "12"},
    "svmx-scale": {"-l": ("0", "-1", "-5"), "-u": ("1", "2"), "-s": ("o1",), "-r": ("r",), "-y": (("0", "1"),)},
    "svmx-subset": {"-s": "01", "--random-state": ("1", "7")},
    "svmx-checkdata": {},
    "svmx-compress": {"--max-sv": ("3", "9"), "--tol": ("0.1", "0"), "--threads": "12"},
    "svmx-export": {
        "--format": ("c", "json"),
        "--dtype": ("float64", "float32"),
        "--name": ("f",),
        "--features": ("99",),
    },
    "svmx-update": {"-m": ("100", "1"), "-e": ("0.001", "1e-6"), "-q": (), "--save-state": ("o2",), "--lenient": ()},
    "svmx-grid": SOLVING
    | {"-log2c": ("0,1,1", "null", "1,0,-1"), "-log2g": ("0,-1,-1", "null"), "-v": "23"}
    | {"-s": "03", "--csv": ("o1",), "--json": ("o2",), "--seeder": ("auto", "none", "sir", "mir"), "-q": ()},
    "svmx-easy": {"--seeder": ("auto", "none"), "--threads": "12", "--solver": ("smo", "chunked")},
}
FILES = {
    "svmx-train": (("d", "o1"), ("d", "o1"), ("d",)),
    "svmx-predict": (("d", "m", "o1"),),
    "svmx-scale": (("d",),),
    "svmx-subset": (("d", "10"), ("d", "10", "o1"), ("d", "10", "o1", "o2")),
    "svmx-checkdata": (("d",),),
    "svmx-compress": (("--tol", "0.1", "m", "o1"), ("--max-sv", "5", "m", "o1"), ("m", "o1")),
    "svmx-export": (("m", "o1"),),
    "svmx-update": (
        ("--add", "e", "t", "m", "o1"),
        ("--remove", "1,3-5", "--add", "e", "t", "m", "o1"),
        ("--state", "s", "--add", "e", "o1"),
        ("--state", "s", "--remove", "2-4", "-c", "2", "o1"),
        ("--window", "20", "--step", "5", "t", "o1", "o3"),
        ("--window", "10", "-t", "0", "t", "o1"),
    ),
    "svmx-grid": (("d",),),
    "svmx-easy": (("e", "d"), ("e",)),
}
FIXED = {  # keeps a case short and away from the folder's other files
    "svmx-grid": ("-png", "null", "-out", "o3"),
    "svmx-train": ("--max-iter", "2000"),
}
LINES = tuple(name for name in FILES if name != "svmx-easy")  # svmx-easy searches easy.py's grid for minutes


def line_of(wild, command):
    """The words of a line, a third of the time with one change."""
    r, words = wild.random, []
    options = {**OPTIONS[command], **dict.fromkeys(SWITCHES.get(command, ()), ())}
    for name in r.sample(sorted(options), min(len(options), r.choice([0, 1, 1, 2, 3]))):
        value = r.choice(options[name]) if options[name] else ()
        words += [name, *((value,) if isinstance(value, str) else value)]
    words = [*FIXED.get(command, ()), *words, *r.choice(FILES[command])]
    if r.random() < 0.35:
        at = r.randrange(len(words))
        kind = r.choice(["drop", "twice", "odd", "unknown", "swap", "file"])
        if kind == "drop":
            del words[at]
        elif kind == "twice":
            words.insert(at, words[at])
        elif kind == "odd":
            words[at] = wild.number()
        elif kind == "unknown":
            words[at:at] = [r.choice(UNKNOWN), wild.number()]
        elif kind == "swap":
            other = r.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        else:
            words[-1] = r.choice(["nofile", ".", "", "d", "nofolder/x"])
    return ["1" if "\0" in word or word == "-" else word for word in words]
