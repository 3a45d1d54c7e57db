"""Every block of README, CONTRIBUTING and the docs runs unchanged, in a clone, in order, as a reader would run it."""

import re
import tomllib
from pathlib import Path

import pytest
from support import documents
from support.documents import OUTPUT, RUNNERS, TEXT, Block

# Their programs start an interpreter many times, most with scikit-learn or matplotlib. The quick pages have blocks of
# all kinds; the features in the long ones are tested in the folder of their face.
LONG = [
    *("sklearn", "plot", "solvers", "from-sklearn", "grid", "quickstart", "cluster", "update", "commands", "compress"),
    *("from-libsvm", "index", "influence", "path", "intervals", "faq"),
]
PROGRAMS = {name: [b for b in documents.blocks_of(name) if b.kind != TEXT] for name in documents.NAMES}


def runs_here(block):
    return block.kind in RUNNERS and not block.not_run() and not any(p in block.text for p in documents.promised())


@pytest.fixture
def clone(tmp_path):
    return documents.make_clone(tmp_path)


def check(programs, clone):
    printed = None
    for block in programs:
        if block.kind == OUTPUT:
            assert documents.shows(printed, block.text), f"{block} shows this:\n{block.text}\nprinted is:\n{printed}"
        elif runs_here(block):
            printed = documents.run(block, clone)
    left = documents.left_behind(clone)
    assert not left, f"left in the clone, and not ignored by git:\n{left}"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] if Path(name).stem in LONG else [])
        for name, found in PROGRAMS.items()
        if any(map(runs_here, found))
    ],
)
def test_blocks_run_and_print_what_is_shown(name, clone):
    if name in documents.NEEDS:
        pytest.importorskip(documents.NEEDS[name])
    check([block for block in PROGRAMS[name] if not block.is_slow()], clone)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name, found in PROGRAMS.items() if any(b.is_slow() for b in found)])
def test_slow_blocks_run(name, clone):
    check([block for block in PROGRAMS[name] if block.is_slow()], clone)


@pytest.mark.parametrize("name", documents.NAMES)
def test_no_block_is_passed_over(name):
    """Each has a kind that says whether it runs; output follows the block that prints it; .ci/run finds the commands
    that it reads from README."""
    before = None
    for block in documents.blocks_of(name):
        known = block.is_directive() or block.kind in {*RUNNERS, OUTPUT, TEXT}
        assert known, f"{block}: `{block.kind}` is none of sh, python, output, text"
        assert block.kind != OUTPUT or (before and runs_here(before)), f"{block}: nothing that is run prints this"
        before = block


def promises():
    """For each README command that .ci/run runs, the lines of README that match it."""
    lines = [line for block in documents.blocks_of("README.md") for line in block.text.splitlines()]
    return [[line for line in lines if piece in line] for piece in documents.promised()]


def test_ci_runs_what_readme_promises():
    assert [len(meant) for meant in promises()] == [1, 1, 1]


def test_of_the_commands_of_readme_the_first_compiles_alone():
    """The others add an extra to the installed package: pip builds nothing for a requirement already installed."""
    (first,), *others = promises()
    assert first.startswith(
        "python3 -m venv .venv && . .venv/bin/activate && pip install . scikit-learn && svmx-train "
    )
    project = tomllib.loads((documents.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for (line,) in others:
        added = re.fullmatch(
            r"\. \.venv/bin/activate && pip install 'libsvmx\[(\w+)\]' && (sphinx-build .*|pytest)", line
        )
        assert added and added[1] in project["optional-dependencies"], line


def test_few_blocks_are_not_run():
    """All others run. Do not extend the list: a block that runs on data/ serves the reader as well."""
    reasons = [f"{b.document}: {b.not_run()}" for found in PROGRAMS.values() for b in found if b.not_run()]
    assert reasons == [
        "CONTRIBUTING.md: it needs the network and compiles for minutes",
        "CONTRIBUTING.md: FOLDER holds LIBSVM's data sets, and all together takes hours",
    ]


# --- the helpers themselves ---


def test_blocks_are_found():
    text = "a\n```sh\n# not run by the tests: no cluster\nx\n```\n- b\n  ```\n  y\n  ```\n"
    assert documents.blocks("d", text) == [
        Block("d", 2, "sh", "# not run by the tests: no cluster\nx\n"),
        Block("d", 7, "", "  y\n"),
    ]
    assert documents.blocks("d", text)[0].not_run() == "no cluster"
    with pytest.raises(AssertionError, match="has no end"):
        documents.blocks("d", "```sh\n")


@pytest.mark.parametrize(
    "printed, shown, same",
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\nb\nc\n", "a\n...\n", True),
        ("a\n", "a\n...\n", True),
        ("took 3 s\n", "took … s\n", True),
        ("took 3 s\nmore s\n", "took … s\n", False),
        ("a+\n", "aa\n", False),
    ],
)
def test_output_is_compared(printed, shown, same):
    assert documents.shows(printed, shown) == same


def test_a_block_that_fails_is_told(clone):
    with pytest.raises(AssertionError, match=r"d:1 ends with 1:\n.*nothing-here"):
        check([Block("d", 1, "sh", "svmx-train nothing-here\ntrue\n")], clone)
    with pytest.raises(AssertionError, match="shows this"):
        check([Block("d", 1, "python", "print(1)\n"), Block("d", 2, OUTPUT, "2\n")], clone)
    with pytest.raises(AssertionError, match="left in the clone"):
        check([Block("d", 1, "sh", "echo > new; echo >> README.md; echo > new.model\n")], clone)
