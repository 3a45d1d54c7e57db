"""Suggestions for misspelled options, names of values, and files. None if nothing is similar."""

import pytest
from support import data

from libsvmx import Kernel, Parameter, ParameterError
from libsvmx._core.suggestions import nearest

HEART = str(data.DATA / "heart_scale")


NO_KERNEL = (
    "option -t: unknown kernel 'laplacien': choose one of 0 linear, 1 polynomial, 2 rbf, 3 sigmoid, 4 precomputed, "
    "laplacian, cosine, tanimoto, intersection, chi2, additive_chi2, matern32, matern52, rational_quadratic; "
    "did you mean laplacian?"
)


@pytest.mark.parametrize(
    "command, args, message",
    [
        ("svmx-train", ["--solvr", "auto", HEART], "unknown option --solvr; did you mean --solver?"),
        ("svmx-train", ["--Threads=2", HEART], "unknown option --Threads; did you mean --threads?"),
        ("svmx-train", ["--hlep"], "unknown option --hlep; did you mean --help?"),
        ("svmx-train", ["--wxyz", HEART], "unknown option --wxyz"),
        ("svmx-train", ["-solver", "auto", HEART], "option -solver needs a number, not 'auto'; did you mean --solver?"),
        ("svmx-train", ["-loo", HEART], "unknown option -loo; did you mean --loo?"),
        ("svmx-train", ["-x", HEART], "unknown option -x"),
        ("svmx-train", ["--gamma", "1", HEART], "unknown option --gamma; did you mean -g?"),
        ("svmx-train", ["--cost=1", HEART], "unknown option --cost; did you mean -c?"),
        ("svmx-train", ["--eps", "1", HEART], "unknown option --eps; did you mean -e?"),
        ("svmx-easy", ["--eps", "1", HEART], "unknown option --eps"),
        ("svmx-easy", ["--C", "1", HEART], "unknown option --C"),
        ("svmx-train", ["-kernel", "rbf", HEART], "unknown option -kernel; did you mean -t?"),
        ("svmx-update", ["--class-weight", "1", HEART], "unknown option --class-weight; did you mean -w?"),
        ("svmx-scale", ["--gamma", "1", HEART], "unknown option --gamma"),
        ("svmx-train", ["-t", "laplacien", HEART], NO_KERNEL),
        ("svmx-train", ["-s", "epsilon-svr", HEART], "option -s needs a number, not 'epsilon-svr'; epsilon-svr is 3"),
        (
            "svmx-train",
            ["--solver", "chunkd", HEART],
            "unknown solver 'chunkd': choose one of smo, chunked, irwls, crsvm, auto; did you mean chunked?",
        ),
        ("svmx-scale", ["--leniant", HEART], "unknown option --leniant; did you mean --lenient?"),
        ("svmx-grid", ["--wokers", "2", HEART], "unknown option --wokers; did you mean --workers?"),
        ("svmx-update", ["--windw", "9", HEART], "unknown option --windw; did you mean --window?"),
    ],
)
def test_options_and_values(folder, command, args, message):
    err, _ = folder.refuses(command, *args)
    assert err == f"{command}: error: {message}\nsee {command} --help\n"


def test_formats_and_seeders(folder):
    err, _ = folder.refuses("svmx-export", "--format", "jason", "model", "out")
    assert err.endswith("unknown format 'jason': choose one of c, json, onnx; did you mean json?\n")
    err, _ = folder.refuses("svmx-train", "-v", "5", "--seeder", "nera", HEART)
    assert "; did you mean near?\n" in err


@pytest.mark.parametrize("name, found", [("hart.train", "heart.train"), ("HEART.TRAIN", "heart.train"), ("x", None)])
def test_files_of_the_folder(folder, name, found):
    folder.put("heart.train", "1 1:1\n")
    folder.put("other", "1 1:1\n")
    err, _ = folder.refuses("svmx-train", name)
    hint = f"; did you mean {found}?" if found else ""
    assert err == f"svmx-train: error: {name}: No such file or directory{hint}\n"


def test_files_of_another_folder(folder):
    (folder.path / "sub").mkdir()
    (folder.path / "sub" / "heart.model").write_text("")
    err, _ = folder.refuses("svmx-predict", HEART, "sub/heart.modle", "out")
    assert err == ("svmx-predict: error: sub/heart.modle: No such file or directory; did you mean sub/heart.model?\n")
    err, _ = folder.refuses("svmx-train", "bus/heart.train")
    assert err == "svmx-train: error: bus/heart.train: No such file or directory\n"


def test_python_has_them_too():
    with pytest.raises(ParameterError, match=r"unknown kernel_type 'liner': .*; did you mean linear\?"):
        Parameter(kernel_type="liner")
    with pytest.raises(ParameterError, match=r"unknown kernel_type 'rfb': .*; did you mean rbf\?"):
        Kernel.named("rfb")
    with pytest.raises(ParameterError, match=r"unknown solver 'atuo'.*; did you mean auto\?"):
        Parameter(solver="atuo")


def test_short_names_are_like_too_many():
    assert nearest("ab", ["abc", "ab1"]) is None
    assert nearest("ab", ["abc", "bc"]) == "abc"
    assert nearest("abcd", ["abc", "xyz"]) == "abc"
