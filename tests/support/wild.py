"""Files, option lines and Python arguments that are valid, nearly valid or wild: first a structure, then mutations."""

import bz2
import gzip
import json
import lzma
import random
import re
import struct

import numpy as np
from scipy import sparse

from support import statefiles
from support.wildfiles import streams

NUMBERS = [
    *["0", "1", "-1", "0.5", "1e-320", "5e-324", "1e308", "-1e308", "1.7976931348623157e308", "1e400", "nan", "inf"],
    *["-0", "+1", "00", "0x1p-1074", "0x1p3", "1e", "1e+", ".5", "5.", ".", "-", "+", "--1", "1_0", "1,5", "1e5"],
    *["2147483647", "2147483648", "4294967297", "99999999999999999999", "1e-400", "NaN", "Infinity", "infinit"],
    *["\N{ARABIC-INDIC DIGIT THREE}", "1\u00a0", "", "0." + "1" * 400, "1" * 400, "1e99999999999"],
]
TOKENS = [
    *[b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b":", b"#", b"1:1", b"-1", b"qid:3", b"\x0b", b"\xff\xfe"],
    *[b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh91AY&SY", b"\xfd7zXZ\0", b"1:", b":1", b"0:1", b"2147483647:1", b"1:1e308"],
    *[b"\x1a", b"\x80"],
]
CHOICES = {  # option: its values
    "-s": "01234",
    "-t": "0123",
    "-d": "250",
    "-b": "01",
    "-h": "01",
    "-v": "235",
    "-m": ("100", "1", "0.01"),
    "-e": ("0.001", "1e-6", "0.5"),
    "-c": ("1", "0.1", "100"),
    "-g": ("0", "0.5", "10"),
    "-n": ("0.5", "0.1"),
    "-p": ("0", "0.1"),
    "-w1": ("2", "0.5", "0"),
    "--solver": ("smo", "chunked", "irwls", "crsvm", "auto"),
    "--seeder": ("auto", "sir", "mir", "ato", "avg", "top", "near", "path", "none"),
    "--precision": ("auto", "float", "double"),
    "--reduction": ("adaptive", "fixed", "none"),
    "--low-rank": ("cholesky", "rpcholesky", "nystrom", "eigen"),
    "--rank": ("1", "3", "100"),
    "--threads": "12",
    "--working-set": ("0", "2", "20"),
}
UNKNOWN = ("-z", "--foo", "-wx", "-w", "-", "--rank-error", "--tolerance")


class Wild:
    """Wild(seed): a reproducible sequence of cases."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.array = np.random.default_rng(seed)

    # ---- text -----------------------------------------------------------------------------------

    def number(self):
        r = self.random
        if r.random() < 0.6:
            return repr(round(r.gauss(0, 1), r.randrange(1, 8)))
        return r.choice(NUMBERS)

    def data(self):
        """A data file of up to 13 rows; most tokens are valid."""
        r, lines = self.random, []
        wild = r.random() < 0.5
        for _ in range(r.randrange(14)):
            words, index = [r.choice(["1", "-1", "+1", "2", "1.0"]) if r.random() < 0.95 else self.number()], 0
            for _ in range(r.randrange(6)):
                step = [1, 1, 1, 2, 5, 100000] if r.random() < 0.97 else [0, -1, 2**31 - 1, 2**31, 2**32]
                index += r.choice(step)
                words.append(f"{index}:{self.number() if wild else format(r.gauss(0, 1), '.6g')}")
            lines.append(r.choice([" ", "  ", "\t"]).join(words) + (r.choice(["", " ", " # c:1"]) if wild else ""))
        return (r.choice(["\n", "\n", "\r\n"]).join(lines) + r.choice(["\n", "", "\n\n"])).encode()

    def precomputed(self, n=12):
        """A valid data file of kernel values."""
        X = self.array.standard_normal((n, 3))
        rows = (" ".join(f"{j}:{v:.6g}" for j, v in enumerate(row, 1)) for row in X @ X.T)
        return "".join(
            f"{1 if x[0] > 0 else -1} 0:{i} {row}\n" for i, (x, row) in enumerate(zip(X, rows, strict=True), 1)
        ).encode()

    def mutated(self, content, times=0):
        """``content`` after ``times`` changes of bytes, words, numbers and lines; by default one to eight."""
        r, found = self.random, bytearray(content)
        for _ in range(times or r.choice([1, 1, 1, 2, 3, 8])):
            begin = r.randrange(len(found) + 1)
            kind = r.choice(["delete", "token", "byte", "bytes", "cut", "line", "number", "word", "repeat"])
            if kind == "delete":
                del found[begin : begin + r.choice([1, 1, 2, 10, 100])]
            elif kind == "token":
                found[begin:begin] = r.choice(TOKENS)
            elif kind == "byte" and found:
                found[min(begin, len(found) - 1)] = r.randrange(256)
            elif kind == "bytes":
                found[begin:begin] = r.randbytes(r.randrange(1, 5))
            elif kind == "cut":
                del found[begin:]
            elif kind == "line":
                lines = bytes(found).split(b"\n")
                lines[r.randrange(len(lines))] = r.choice([b"", *lines])
                found = bytearray(b"\n".join(lines))
            elif kind in ("number", "word"):
                places = list(re.finditer(rb"[-+0-9.eE]+" if kind == "number" else rb"\S+", bytes(found)))
                if places:
                    place = r.choice(places)
                    found[place.start() : place.end()] = (
                        self.number().encode() if kind == "number" else r.choice(places)[0]
                    )
            else:
                found[begin:begin] = found[begin : begin + r.randrange(200)]
        return bytes(found)

    def enlarged(self, content):
        """``content`` with some numbers large enough that sums and products overflow."""
        r, found = self.random, bytearray(content)
        for _ in range(r.choice([1, 1, 2, 4])):
            places = list(re.finditer(rb"(?<=[ :\t])[-+]?[0-9]*\.[-+0-9.eE]+", bytes(found)))
            if places:
                place = r.choice(places)
                found[place.start() : place.end()] = r.choice(
                    [b"1e308", b"-1e308", b"1.7976931348623157e308", b"1e200", b"-1e160"]
                )
        return bytes(found)

    def archive(self, content):
        """(a compressed file, whether it is complete): up to four streams, cut, damaged, or followed by other bytes."""
        r = self.random
        parts = streams(self, content, [gzip.compress, lzma.compress, bz2.compress])
        found = bytearray(b"".join(parts))
        kind = r.choice(["whole", "whole", "cut", "mutated", "header", "behind", "lost"])
        if kind == "cut":
            del found[r.randrange(len(found)) :]
        elif kind == "mutated":
            found = self.mutated(found, 1)
            kind = "whole" if found == b"".join(parts) else kind
        elif kind == "header":  # in the magic number of any stream
            begin = sum(map(len, parts[: r.randrange(len(parts))]))
            found[begin + r.randrange(2)] ^= 1 << r.randrange(8)
        elif kind == "behind":
            found += r.choice([b"1 1:1\n", b"\1\0\0\0", b"x"])
        elif kind == "lost":
            del found[r.randrange(len(found))]
        if any(found == b"".join(parts[:k]) for k in range(1, len(parts))):
            return self.archive(content)  # cut between two streams it is a complete archive of fewer rows
        return bytes(found), kind == "whole"

    def state(self, content):
        """A state file, damaged, or changed with a correct checksum."""
        r = self.random
        if r.random() < 0.25:
            return self.mutated(content)
        members = [[name, bytearray(data)] for name, data in statefiles.members_of(content)]
        kind = r.choice(["arrays", "param", "entry", "archive"])
        if kind == "archive":
            return statefiles.signed(self.mutated(content))
        text = json.loads(members[0][1])
        if kind == "arrays":
            array = r.choice(members[1:])[1]
            at = r.randrange(len(array) // 8) * 8
            integer = struct.pack("<q", r.choice([-1, 0, 1, 2**31, 2**62, -(2**63), 5]))
            real = struct.pack("<d", r.choice([float("nan"), float("inf"), 1e308, -1e308, 0.5, -1.0, 0.0, 1e-320]))
            array[at : at + 8] = r.choice([integer, real])
        elif kind == "param":
            values = [None, -1, 0, 1, 2, 3, 1e308, -0.5, "x", [], {}, True, [[1, 0]], 2**70, 1e-300]
            text["param"][r.choice(list(text["param"]))] = r.choice(values)
        else:
            text[r.choice(list(text))] = r.choice([None, [], {}, -1, 2**62, 2**63, 1.5, "x", [{}], [[]]])
        members[0][1] = json.dumps(text).encode()
        return statefiles.archived(members)

    def options(self, without=()):
        """Words of an option line for svm-train; the run is short."""
        r, words = self.random, []
        for _ in range(r.choice([0, 1, 1, 2, 3, 4])):
            option = r.choice([*CHOICES, r.choice(UNKNOWN), "-q", "--loo", "--lenient"])
            if option in without:
                continue
            if option in ("-q", "--loo", "--lenient"):
                words.append(option)
                continue
            right = option in CHOICES and r.random() < 0.95
            words += [option, r.choice(CHOICES[option]) if right else self.number()]
        return [word for word in words if "\0" not in word] + ["--max-iter", "2000"]

    # ---- Python ---------------------------------------------------------------------------------

    def rows(self):
        """X in one of many kinds, some of them not rows of numbers."""
        r = self.random
        A = self.array.standard_normal((r.choice([0, 1, 2, 8, 8, 20, 20, 40]), r.choice([0, 1, 2, 2, 3, 3, 13])))
        if r.random() < 0.2 and A.size:
            A.flat[r.randrange(A.size)] = r.choice([np.nan, np.inf, 1e300, -1e300, 1e-320, 1e19])
        whole = np.nan_to_num(A, posinf=9, neginf=-9).clip(-99, 99).round()
        kinds = [
            lambda: A,
            lambda: np.asfortranarray(A),
            lambda: whole.astype(r.choice(["f4", "f2", "i8", "u1", "?", "O", ">f8", "U8", "c16", "M8[s]"])),
            lambda: A.tolist(),
            lambda: A[::-1],
            lambda: r.choice([sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array])(A),
            lambda: self.odd_csr(A),
            lambda: [{j: float(v) for j, v in enumerate(row)} for row in A],
            lambda: A.ravel(),
            lambda: A[None],
            lambda: np.ma.masked_array(A),
            lambda: r.choice([None, 3, "x", object(), [], [[]], [[1], [1, 2]], {1: 2}]),
        ]
        return len(A), r.choice([*kinds[:2], kinds[3], kinds[4], kinds[5], kinds[7], *kinds])()

    def odd_csr(self, A):
        """A sparse matrix with 64-bit or repeated indices, one beyond its shape, or rows beyond its end."""
        found, r = sparse.csr_matrix(A), self.random
        kind = r.randrange(6)
        if kind == 0:
            found.indices, found.indptr = found.indices.astype("i8"), found.indptr.astype("i8")
        elif kind == 1:
            parts = (np.repeat(found.data, 2), np.repeat(found.indices, 2), found.indptr * 2)
            found = sparse.csr_matrix(parts, shape=found.shape)
        elif kind == 2:
            found.data[:] = 0
        elif kind == 3 and len(A):
            found.indptr[r.randrange(len(A)) + 1] = r.choice([-1, 99, 2**31 - 1])
        elif found.nnz:
            found = r.choice([found, found, found.tocsc(), found.tobsr()])
            found.indices[r.randrange(len(found.indices))] = r.choice([-1, 99, 2**31 - 1, -(2**31)])
        return found

    def targets(self, n):
        """y for n rows, in one of many kinds."""
        r = self.random
        y = self.array.integers(0, r.choice([1, 2, 2, 2, 3, 5]), n)
        kinds = [lambda: y, lambda: y.tolist(), lambda: y * 1e9, lambda: y + 0.5, lambda: y[:-1], lambda: y[:, None]]
        kinds += [lambda: y.astype(r.choice(["i1", "O", "U3", "c8", "?"])), lambda: y * 2**31, lambda: None]
        return r.choice([kinds[0]] * 6 + kinds)()

    def keywords(self, choices):
        """Keyword arguments of a training: for each field one of its ``choices``, rarely something else."""
        r, found = self.random, {}
        odd = [None, -1, 1.5, "x", np.nan, np.inf, [], {}, object(), 2**70, True, b"1", np.float32(1), np.array([1, 2])]
        for name in r.sample(sorted(choices), r.choice([0, 1, 2, 2, 3])):
            found[name] = r.choice(choices[name]) if r.random() < 0.9 else r.choice(odd)
        return found
