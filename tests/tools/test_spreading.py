"""The benchmark of rows on a cluster: everything in small."""

import json
import shutil

import pytest
from support.data import DATA

pytest.importorskip("distributed")

from tools.bench import spreading
from tools.bench.__main__ import main


def test_a_run_in_small(tmp_path, capsys):
    shutil.copy(DATA / "a1a.xz", tmp_path / "a9a.xz")
    common = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "--memory", "1GB"]
    sizes = ["--size", "1200x4", "--block", "500", "--json", str(tmp_path / "j"), "--markdown", str(tmp_path / "m")]
    assert main(["spread", *common, *sizes]) == 0
    found = json.loads((tmp_path / "j").read_text())
    assert [one["killed"] for one in found["equal"]] == [False, True]
    assert all(one["difference"] <= spreading.DIFFERENT for one in found["equal"])
    (cost,) = found["costs"]
    assert (cost["rows"], cost["features"], cost["blocks"], cost["workers"]) == (1200, 4, 3, 2)
    assert cost["status"] == "converged"
    assert cost["gap"] <= 1e-8
    assert 0 < cost["sent_bytes"] < cost["received_bytes"]
    assert len(cost["most_gigabytes"]) == 3
    assert min(cost["most_gigabytes"].values()) > 0.01
    assert "| 1,200 | 4 | 3 |" in (tmp_path / "m").read_text()
    assert "a worker killed" in capsys.readouterr().out


def test_no_data(tmp_path):
    with pytest.raises(SystemExit, match="no a9a"):
        spreading.equal(None, tmp_path, tmp_path)
