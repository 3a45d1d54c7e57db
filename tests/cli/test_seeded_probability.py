"""svmx-train -b 1 --seeder: the model of -b 1 except for its sigmoids, and its output."""

import pytest
from support.gridengine import HEART

OPTIONS = ["-b", "1", "-e", "1e-6", "-c", "5"]


def lines_of(folder, *options, data=HEART):
    """Lines of the model file, and of its probability estimates."""
    folder.accepts("svmx-train", "-q", *options, data, "found.model")
    lines = (folder.path / "found.model").read_text().splitlines()
    sigmoids = [line for line in lines if line.startswith("prob")]
    return [line for line in lines if line not in sigmoids], sigmoids


@pytest.mark.parametrize("seeding", [["--seeder", "auto"], ["--seeder", "near"], ["--seeder-scheme", "chain"]])
def test_the_model_of_b_1_with_nearly_its_sigmoids(seeding, folder):
    (plain, theirs), (seeded, ours) = lines_of(folder, *OPTIONS), lines_of(folder, *OPTIONS, *seeding)
    assert seeded == plain
    assert ours != theirs
    for own, other in zip(ours, theirs, strict=True):
        (name, value), (known, expected) = own.split(), other.split()
        assert name == known
        assert float(value) == pytest.approx(float(expected), rel=1e-4, abs=1e-4)


def test_none_is_as_without(folder):
    assert lines_of(folder, *OPTIONS, "--seeder", "none") == lines_of(folder, *OPTIONS)


def test_cross_validation_with_estimates(folder):
    _, plain = folder.accepts("svmx-train", "-q", *OPTIONS, "-v", "10", HEART)
    _, seeded = folder.accepts("svmx-train", "-q", *OPTIONS, "-v", "10", "--seeder", "auto", HEART)
    assert seeded == plain


def test_a_time_limit_leaves_a_model_without_estimates(folder):
    err, _ = folder.accepts("svmx-train", *OPTIONS, "--seeder", "auto", "--time-limit", "1e-9", HEART, "found.model")
    assert "time limit" in err
    assert "probA" not in (folder.path / "found.model").read_text()
