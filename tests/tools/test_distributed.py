"""The benchmark of rows on a cluster, on few rows."""

import json
import shutil
from argparse import Namespace

import pytest
from support.data import DATA
from support.optional import optional

from tools.bench.__main__ import job_of, main
from tools.bench.jobs import distributed
from tools.bench.measure import Unavailable

optional("distributed")


@pytest.mark.exhaustive
def test_a_run_in_small(tmp_path, capsys):
    shutil.copy(DATA / "a1a.xz", tmp_path / "a9a.xz")
    common = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "--memory", "1GB"]
    sizes = ["--size", "1200x4", "--block", "500", "--json", str(tmp_path / "j"), "--markdown", str(tmp_path / "m")]
    assert main(["distributed", *common, *sizes]) == 0
    equal, cost = json.loads((tmp_path / "j").read_text())["results"]
    assert [run["name"] for run in equal["runs"]] == list(distributed.EQUAL)
    assert all(run["results"][0]["difference"] <= distributed.DIFFERENT for run in equal["runs"])
    (told,) = cost["runs"][0]["results"]
    assert (cost["case"]["name"], told["blocks"]) == ("1200x4", 3)
    assert told["status"] == "converged"
    assert told["gap"] <= 1e-8
    assert 0 < told["sent_bytes"] < told["received_bytes"]
    assert len(told["most_gigabytes"]) == 3
    assert min(told["most_gigabytes"]) > 0.01
    assert "| 1200x4 | 3 |" in (tmp_path / "m").read_text()
    assert "a worker killed" in capsys.readouterr().out


def test_no_data(tmp_path):
    with pytest.raises(Unavailable, match="a9a is not in"):
        distributed.parts_of(job_of("distributed").every_case(Namespace(size=()))[0], Namespace(data=tmp_path))
