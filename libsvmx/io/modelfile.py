"""Model files of LIBSVM 3.37: text, a header of ``key value…`` lines, then one line per support vector.

A model with a gamma for each feature has them in a line ``gammas``, a key at which LIBSVM refuses the file. Its support
vectors are scaled, with all digits: the model is that of ``gamma`` over scaled rows.
"""

from __future__ import annotations

import os
from math import isfinite

from libsvmx._core.buffers import filled
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import FormatError, ParameterError, warn_caller
from libsvmx.io.files import COMPRESSED, parting, read_bytes
from libsvmx.io.outputs import atomic_write
from libsvmx.io.textparse import parse_vectors
from libsvmx.io.textwrite import numbers_text, vectors_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._core.matrix import CsrMatrix

SVM_NAMES = {kind: kind.name.lower() for kind in SvmType}
KERNEL_NAMES = {kind: kind.keyword for kind in KernelType}
KEYS = (
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "gammas",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "probA",
    "probB",
    "prob_density_marks",
    "nr_sv",
)
N_MARKS = 10


def model_text(model: Model) -> bytes:
    """The bytes of the model file, as LIBSVM writes it."""
    return bytes(model_view(model))


def model_view(model: Model) -> memoryview:
    """``model_text`` as a buffer, without a copy."""
    p = model.param
    if p.gammas and model.vectors.first_index == 0:
        raise ParameterError("gamma must be one number for a model file with a feature of index 0")
    lines = [f"svm_type {SVM_NAMES[p.svm_type]}", f"kernel_type {KERNEL_NAMES[p.kernel_type]}"]
    lines += [f"{name} {_plain(getattr(p, name))}" for name in p.kernel_type.uses]
    lines += [" ".join(["gammas", *map(_plain, p.gammas)])] if p.gammas else []
    lines += [f"nr_class {model.nr_class}", f"total_sv {model.n_sv}"]
    for key, values in (
        ("rho", model.offsets),
        ("label", model.class_labels),
        ("probA", model.sigmoid_a),
        ("probB", model.sigmoid_b),
        ("prob_density_marks", model.marks),
        ("nr_sv", model.class_sv),
    ):
        if isinstance(values, memoryview) and len(values):
            lines.append(f"{key} {numbers_text(values, len(values), 17).decode('ascii').rstrip()}")
        elif values is not None:
            lines.append(" ".join([key, *map(_plain, values)]))
    head = "\n".join([*lines, "SV\n"]).encode("ascii")
    is_precomputed, digits = p.kernel_type == KernelType.PRECOMPUTED, 17 if p.gammas else 8
    return vectors_text(head, model.vectors, model.coef, is_precomputed, digits)


def _plain(value: float) -> str:
    """A number as LIBSVM writes it."""
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def save_model(path: str, model: Model) -> None:
    """Write a model file atomically.

    Raises
    ------
    OSError
    ParameterError      a gamma for each feature, and a feature with index 0
    """
    content = model_view(model)
    with atomic_write(path) as file:
        file.write(content)


def load_model(path: str, warn: Callable[[str], object] = warn_caller) -> Model:
    """Read a model file of LIBSVM (2.0 or later) or libsvmx.

    ``warn`` is called with oddities that are no errors; by default a Python warning.

    Raises
    ------
    OSError
    FormatError      anything about it is missing, repeated, contradictory or not finite
    """
    model, remark = parse_model(read_bytes(path), path, warn), parting(path)
    if remark is not None:
        warn(f"{path}: {remark}")
    return model


def parse_model(text: bytes, path: str, warn: Callable[[str], object] = warn_caller) -> Model:
    """``load_model`` of the content of a file, called ``path`` in messages. Raises FormatError."""
    header = Header(text, path)
    param = header.parameter()
    nr_class, n_sv = header.integer("nr_class", 1, 2**31 - 1), header.integer("total_sv", 0, len(text))
    classify = param.svm_type.is_classification
    if not classify and nr_class != 2:
        raise header.error("nr_class", f"must be 2 for {SVM_NAMES[param.svm_type]}")
    functions = nr_class * (nr_class - 1) // 2
    rho = header.floats("rho", functions)
    labels = class_sv = None
    if classify:
        labels = header.integers("label", nr_class)
        class_sv = header.integers("nr_sv", nr_class)
        if min(class_sv) < 0 or sum(class_sv) != n_sv:
            raise header.error("nr_sv", f"counts must be >= 0 and add up to total_sv = {n_sv}")
        if len(set(labels)) != nr_class:
            raise header.error("label", "a label is repeated")
    else:  # R's e1071 writes "label 0 0" and "nr_sv 0 0", which LIBSVM reads and ignores
        for key in ("label", "nr_sv"):
            if key in header.lines:
                header.integers(key, nr_class)
    if n_sv * (nr_class - 1) * 2 > len(text):  # a coefficient and its blank take two bytes: check before allocating
        raise header.error("total_sv", f"the file is too short for {n_sv} support vectors of {nr_class} classes")
    prob_a, prob_b, marks = header.probabilities(param, functions)
    coef, vectors = parse_vectors(text, path, header.end, header.n_lines, n_sv, nr_class - 1)
    if param.kernel_type == KernelType.PRECOMPUTED:
        check_serials(path, header, vectors)
    n_gammas = len(param.gammas)
    if n_gammas and (vectors.first_index == 0 or vectors.max_index > n_gammas):
        index = 0 if vectors.first_index == 0 else vectors.max_index
        raise header.error(
            "gammas", f"they are of features 1 to {n_gammas}, but there is a vector with feature {index}"
        )
    if header.blank_lines:
        warn(f"{path}:1: blank line before the model is ignored")
    if n_sv and text[-1] not in b"\n\r":
        check_last_line(path, header, text, nr_class - 1, vectors, class_sv)
        warn(
            f"{path}:{header.n_lines + n_sv}: the last line does not end with a newline, as if the file had been cut "
            "off: its last digits or pairs may be missing"
        )
    columns = n_gammas or None
    return Model(param, nr_class, vectors, coef, rho, labels, class_sv, prob_a, prob_b, marks, columns=columns)


def lost_by_writing(path: str) -> str:
    """The kind of a file that a model written to ``path`` would replace, as a noun with its article; '' for no file, a
    model, or an unreadable file."""
    if not os.path.isfile(path):
        return ""
    from libsvmx.io.file_kind import HEAD_BYTES, kind_of

    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return ""
    if head.startswith(COMPRESSED):
        return "a compressed file"
    words = head.removeprefix(b"\xef\xbb\xbf").split(None, 1)
    if not words or words[0].decode("ascii", "replace") in KEYS:
        return ""
    return kind_of(head) or "no model"


class Header:
    """The header lines, each key once, with typed access; errors name the line."""

    def __init__(self, text: bytes, path: str):
        self.path, self.text = path, text
        self.lines: dict[str, tuple[int, list[str]]] = {}
        position = 3 if text.startswith(b"\xef\xbb\xbf") else 0
        self.n_lines = self.blank_lines = 0  # lines of the header, and blank ones before it
        while True:
            newline = text.find(b"\n", position)
            if newline < 0:
                raise self.refusal(0, 0, "not a model file: there is no line 'SV' after the header")
            line = text[position:newline]
            position = newline + 1
            self.n_lines += 1
            words = line.decode("ascii", "replace").split()
            if words == ["SV"]:
                break
            if not words and not self.lines:
                self.blank_lines += 1
                continue
            self.add(words)
        self.end = position

    def add(self, words: list[str]) -> None:
        if not words:
            raise FormatError(self.path, self.n_lines, 0, "blank line in the header")
        key = words[0]
        if key not in KEYS:
            raise self.refusal(self.n_lines, 1, f"unknown key in the model header: {key[:40]!r}")
        if key in self.lines:
            raise FormatError(self.path, self.n_lines, 1, f"{key} is given twice")
        self.lines[key] = (self.n_lines, words[1:])

    def refusal(self, line: int, column: int, cause: str) -> FormatError:
        """The error for the file; if no line is a model's, with what the file seems to be."""
        from libsvmx.io.file_kind import kind_of

        if not self.lines and (kind := kind_of(self.text)):
            return FormatError(self.path, 0, 0, f"not a model of LIBSVM, but {kind}")
        return FormatError(self.path, line, column, cause)

    def error(self, key: str, cause: str) -> FormatError:
        return FormatError(self.path, self.lines[key][0] if key in self.lines else 0, 0, f"{key}: {cause}")

    def words(self, key: str, n: int) -> list[str]:
        if key not in self.lines:
            raise self.error(key, "missing in the model header")
        words = self.lines[key][1]
        if len(words) != n:
            raise self.error(key, f"{n} values expected, {len(words)} found")
        return words

    def integers(self, key: str, n: int) -> tuple[int, ...]:
        words = self.words(key, n)
        try:
            values = tuple(int(word) for word in words if plain_integer(word))
        except ValueError as error:
            raise self.error(key, str(error)) from None
        return values

    def integer(self, key: str, least: int, most: int) -> int:
        value = self.integers(key, 1)[0]
        if not least <= value <= most:
            raise self.error(key, f"{value} is not between {least} and {most}")
        return value

    def floats(self, key: str, n: int) -> Buffer:
        values = []
        for word in self.words(key, n):
            try:
                values.append(float(word) if "_" not in word else float("nan"))
            except ValueError:
                raise self.error(key, f"not a number: {word[:40]!r}") from None
            if not isfinite(values[-1]):
                raise self.error(key, f"not a finite number: {word[:40]!r}")
        return filled("d", values)

    def gammas(self, kernel: KernelType) -> tuple[float, ...]:
        gammas = tuple(self.floats("gammas", len(self.lines["gammas"][1]) or 1))
        if "gamma" not in kernel.uses:
            raise self.error("gammas", f"a {KERNEL_NAMES[kernel]} kernel has none")
        if min(gammas) < 0:
            raise self.error("gammas", f"must be >= 0, not {min(gammas):g}")
        return gammas

    def name(self, key: str, names: dict[SvmType, str] | dict[KernelType, str]) -> int:
        word = self.words(key, 1)[0]
        for kind, name in names.items():
            if name == word:
                return kind
        raise self.error(key, f"unknown: {word[:40]!r}; known are {', '.join(names.values())}")

    def parameter(self) -> Parameter:
        """The parameters in a model file."""
        values: dict[str, float | tuple[float, ...]] = {}
        kernel = KernelType(self.name("kernel_type", KERNEL_NAMES))
        for key in kernel.uses:
            values[key] = self.integer(key, 0, 2**31 - 1) if key == "degree" else self.floats(key, 1)[0]
        if "gammas" in self.lines:
            values["gammas"] = self.gammas(kernel)
        try:
            return Parameter(SvmType(self.name("svm_type", SVM_NAMES)), kernel, **values)  # type: ignore[arg-type]
        except ParameterError as error:
            line, _ = self.lines.get(str(error).split()[0], (0, []))  # these messages begin with the name
            raise FormatError(self.path, line, 0, str(error)) from None

    def probabilities(self, param: Parameter, functions: int) -> tuple[Buffer | None, Buffer | None, Buffer | None]:
        """probA, probB and density marks that the formulation has; others are ignored, as in LIBSVM. R's e1071 writes
        probB for regression, too."""
        a = self.floats("probA", functions) if "probA" in self.lines else None
        b = self.floats("probB", functions) if "probB" in self.lines else None
        marks = self.floats("prob_density_marks", N_MARKS) if "prob_density_marks" in self.lines else None
        if param.svm_type.is_classification and (a is None) != (b is None):
            raise self.error("probA" if b is None else "probB", "probA and probB belong together")
        one_class = param.svm_type == SvmType.ONE_CLASS
        return None if one_class else a, b if param.svm_type.is_classification else None, marks if one_class else None


def plain_integer(word: str) -> bool:
    """True; ValueError for text that int() accepts but C does not."""
    if not word.lstrip("+-").isascii() or not word.lstrip("+-").isdigit() or not -(2**31) <= int(word) < 2**31:
        raise ValueError(f"not an integer between -2^31 and 2^31 - 1: {word[:40]!r}")
    return True


def check_serials(path: str, header: Header, vectors: Buffer) -> None:
    """Check that support vectors of a precomputed kernel are ``0:serial`` with serial >= 1."""
    for i in range(vectors.n_rows):
        pairs = vectors.row(i)
        if len(pairs) != 1 or pairs[0][0] != 0 or pairs[0][1] != int(pairs[0][1]) or not 1 <= pairs[0][1] < 2**31:
            raise FormatError(path, header.n_lines + i + 1, 0, "precomputed kernel: expected 0:serial with serial >= 1")


# The end of a number not written by C, which ends it with a digit and gives exponents two or more.
CUT_NUMBER = rb"(?:[.eE]|[eE][+-]?[0-9]?)$"

BLOCK_BYTES = 4096


def check_last_line(
    path: str, header: Header, text: bytes, n_coef: int, vectors: CsrMatrix, class_sv: tuple[int, ...] | None
) -> None:
    """Refuse a last line without its newline if it shows that more is missing.

    LIBSVM ends every value with a blank and every line with a newline; programs that strip text drop one or both, and
    so does truncation. Whether the last value is complete, or the last, cannot be known. But truncation shows in a line
    without pairs and its blank, in a number that C does not write so, in a serial number within a class, and in a size
    of whole blocks, in which programs write files.
    """
    line = header.n_lines + vectors.n_rows
    words = text[text.rfind(b"\n") + 1 :].split()
    cut = len(text) % BLOCK_BYTES == 0
    if text[-1] not in b" \t":
        import re  # for such files alone

        cut = cut or len(words) <= n_coef or re.search(CUT_NUMBER, words[-1]) is not None
    last_class = vectors.n_rows if class_sv is None else next(n for n in reversed(class_sv) if n)
    if last_class > 1 and header.words("kernel_type", 1) == [KERNEL_NAMES[KernelType.PRECOMPUTED]]:
        cut = cut or vectors.row(vectors.n_rows - 1)[0][1] <= vectors.row(vectors.n_rows - 2)[0][1]
    if cut:
        raise FormatError(path, line, 0, "the last line is cut off: it does not end with a newline")
