"""Model files of older versions of LIBSVM: its current reader and ours give the same model.

Changes since version 2.0:

    rho, probA, probB, gamma: %g, today %.17g              coefficients: %.16g, today %.17g
    two classes in the order of the data; since 3.17 the labels 1 and -1 in this order
    the degree as a floating-point number, today an integer
    no probA, probB, then no prob_density_marks of one-class
    line ends of the system: files from Windows have CR LF
"""

import re

import pytest
from support import data
from support import oracle as libsvm

import libsvmx
from libsvmx.io.modelfile import load_model

SETS = [
    ("heart_scale", "-s 0"),
    ("iris.scale", "-s 1"),
    ("mpg", "-s 3"),
    ("heart_scale", "-s 2"),
    ("glass.scale", "-s 0"),
]
KERNELS = ["-t 0", "-t 1 -d 2 -r 0.5", "-t 2 -g 0.07", "-t 3 -g 0.01"]
SHORT = ("rho", "probA", "probB", "gamma", "coef0")


def parts(text):
    """(header as a dict of lists of words, support vector lines as (coefficients, rest))."""
    head, lines = text.split("SV\n", 1)
    header = {words[0]: words[1:] for words in map(str.split, head.splitlines())}
    vectors = []
    for line in lines.splitlines():
        words = line.split()
        n = next((k for k, word in enumerate(words) if ":" in word), len(words))
        vectors.append((words[:n], words[n:]))
    return header, vectors


def joined(header, vectors, newline="\n"):
    lines = [" ".join([key, *words]) for key, words in header.items()]
    rows = ["".join(f"{word} " for word in [*coef, *pairs]) for coef, pairs in vectors]
    return newline.join([*lines, "SV", *rows, ""])


def fewer_digits(header, vectors):
    for key in SHORT:
        if key in header:
            header[key] = [f"{float(word):g}" for word in header[key]]
    return header, [([f"{float(word):.16g}" for word in coef], pairs) for coef, pairs in vectors]


def before_3_17(header, vectors):
    """The class of the first row is the first: here -1 of 1 and -1."""
    header, vectors = fewer_digits(header, vectors)
    if header.get("label") == ["1", "-1"]:
        n = int(header["nr_sv"][0])
        header["label"], header["nr_sv"] = ["-1", "1"], header["nr_sv"][::-1]
        for key in ("rho", "probB"):
            if key in header:
                header[key] = [negative(word) for word in header[key]]
        vectors = [([negative(word) for word in coef], pairs) for coef, pairs in [*vectors[n:], *vectors[:n]]]
    header.pop("prob_density_marks", None)
    return header, vectors


def negative(word):
    return word[1:] if word.startswith("-") else f"-{word}"


def without_probabilities(header, vectors):
    header, vectors = before_3_17(header, vectors)
    return {key: words for key, words in header.items() if not key.startswith("prob")}, vectors


def degree_as_float(header, vectors):
    """%g shows an integer without a point."""
    if "degree" in header:
        header["degree"] = [f"{float(header['degree'][0]):g}"]
    return without_probabilities(header, vectors)


def from_windows(header, vectors):
    return *before_3_17(header, vectors), "\r\n"


VERSIONS = [fewer_digits, before_3_17, without_probabilities, degree_as_float, from_windows]


@pytest.mark.parametrize("kernel", KERNELS, ids=[k[:4].replace(" ", "") for k in KERNELS])
@pytest.mark.parametrize("name, kind", SETS, ids=[f"{n.split('.')[0]}{k.replace(' ', '')}" for n, k in SETS])
@pytest.mark.parametrize("version", VERSIONS)
def test_fault_69_old_models_are_what_libsvm_takes_them_for(tmp_path, version, name, kind, kernel):
    # on mpg unscaled, LIBSVM takes a million steps with linear and polynomial kernels
    matrix, targets = data.load(name, 90, factor=0.001 if name == "mpg" else 1.0)
    path = tmp_path / "model"
    new = libsvm.Oracle(matrix, targets, f"{kind} {kernel} -n 0.3 -b 1 -q").train().model_bytes(tmp_path).decode()
    old = joined(*version(*parts(new)))
    assert old != new
    path.write_bytes(old.encode())
    known, model = libsvm.load(path), load_model(str(path))
    labels, values = libsvm.predict(known, matrix)
    assert list(libsvmx.predict(model, matrix)) == labels
    assert libsvmx.decision_values(model, matrix).tolist() == values
    estimates = "probA" in old and "svr" not in old
    assert model.has_probability == ("prob" in old)
    if estimates:
        oracle = libsvm.Oracle.__new__(libsvm.Oracle)
        oracle.model = known
        found = libsvmx.predict_probability(model, matrix)
        assert (list(found[0]), found[1].tolist()) == oracle.predict_probability(matrix)


def test_fault_69_the_same_model_before_and_after_3_17(tmp_path):
    """The order of two classes changes no prediction."""
    matrix, targets = data.load("heart_scale", 90)
    new = libsvm.Oracle(matrix, targets, "-c 2 -q").train().model_bytes(tmp_path).decode()
    (tmp_path / "new").write_text(joined(*fewer_digits(*parts(new))))
    (tmp_path / "old").write_text(joined(*before_3_17(*parts(new))))
    first, second = (load_model(str(tmp_path / name)) for name in ("new", "old"))
    assert first.class_labels == (1, -1) and second.class_labels == (-1, 1)
    assert list(libsvmx.predict(first, matrix)) == list(libsvmx.predict(second, matrix))


def test_fault_69_a_degree_that_is_not_whole_is_refused_as_libsvm_refuses_it(tmp_path):
    matrix, targets = data.load("iris.scale", 30)
    path = tmp_path / "model"
    text = libsvm.Oracle(matrix, targets, "-t 1 -q").train().model_bytes(tmp_path).decode()
    path.write_text(re.sub("degree 3", "degree 2.5", text))
    assert not libsvm.libsvm.svm_load_model(str(path).encode())
    with pytest.raises(ValueError, match="model:3: degree: not an integer"):
        load_model(str(path))
