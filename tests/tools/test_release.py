"""Copies of facts in pyproject.toml and meson.build agree with them; the oldest versions are parsed correctly."""

import re
import tomllib
from pathlib import Path

from tools.oldest import oldest

ROOT = Path(__file__).resolve().parents[2]


def text(name):
    return ROOT.joinpath(name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    version = re.search(r"^  version: '([\d.]+)'", text("meson.build"), re.M)[1]
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert f'  version: "{version}"\n' in text("packaging/conda/recipe.yaml")


def test_the_conda_package_needs_what_the_wheel_needs():
    declared = tomllib.loads(text("pyproject.toml"))
    meson = re.search(r"meson_version: '>= ([\d.]+)'", text("meson.build"))[1]
    builds, runs = declared["build-system"]["requires"], declared["project"]["dependencies"]
    pins = {pin.lower().replace("==", " >=") for pin in oldest([*builds, *runs])} | {f"meson >={meson}"}
    host, run = re.search(r"\n  host:\n(.*?)\n  run:\n(.*?)\n\n", text("packaging/conda/recipe.yaml"), re.S).groups()
    assert {line for line in re.findall(r"- (.*)", host + "\n" + run) if ">" in line} == pins


def test_the_oldest_versions_are_the_lower_bounds():
    assert oldest(["numpy>=1.26", "dask[array]>=2024.8", "ninja", "ruff~=0.17", "libsvm-official==3.37.0"]) == [
        "numpy==1.26",
        "dask==2024.8",
    ]
