"""Studies on a Dask cluster: the results of one machine, whoever dies."""

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

from dalenius.errors import InputError
from dalenius.studies import cluster
from dalenius.studies.cluster import Parcel, connected
from dalenius.studies.running import answer
from dalenius.studies.study import Study

pytestmark = pytest.mark.extras

TEXT = """
[study]
name = "s"
[fix]
channel = "c.csv"
records = [2, 2]
tolerance = 1e-3
[vary]
knowledge = { from = 0.1, to = 1.0, steps = 16 }
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    (tmp_path / "c.csv").write_text("0.9,0.1\n0.4,0.6\n0.3,0.7\n0.05,0.95\n")
    (tmp_path / "s.toml").write_text(TEXT)
    return tmp_path / "s.toml"


def test_a_local_cluster_answers_as_this_process_does_though_a_worker_is_killed(toml: Path) -> None:
    study = Study.load(toml)
    killed = []

    def kill_one(state: Any) -> None:
        if state.done == 3 and not killed:
            spawned = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"multiprocessing.spawn" in _read(path)]
            children = [int(path.parent.name) for path in spawned]
            mine = [pid for pid in children if _parent(pid) in (os.getpid(), *children)]
            killed.append(mine[-1])
            os.kill(mine[-1], signal.SIGKILL)

    found = study.run(dask="local:2", progress=kill_one)
    assert killed
    assert found.complete
    expected = {point.key: answer((point.key, point.work)).numbers for point in study.points}
    assert {point.key: found.entries[point.key].numbers for point in study.points} == expected


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    return int(_read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()[1] or 0)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:1", r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: Connection refused"),
        ("localhost:99999", r"an address as tcp://host:8786"),
        ("local", r"write local:4"),
    ],
)
def test_a_scheduler_that_does_not_answer_is_a_sentence(address: str, words: str) -> None:
    with pytest.raises(InputError, match=words), connected(address, 2.0):
        pass


def test_a_port_where_nobody_speaks_is_left_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=r"no answer came within 0\.3 s"), connected(address, 0.3):
            pass


def test_workers_of_other_versions_are_refused_before_any_work(toml: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local:
        # This process looks at one package more than the workers do.
        monkeypatch.setattr(cluster, "VERSIONS", (*cluster.VERSIONS, "another-package"))
        cluster.versions.cache_clear()
        refuses("has other versions", Study.load(toml).run, dask=local.scheduler_address)
    cluster.versions.cache_clear()


def test_a_worker_that_joins_with_other_versions_answers_nothing(toml: Path) -> None:
    point = Study.load(toml).points[0]
    parcel = Parcel.of(point.key, point.work)
    assert parcel.answer().status == "done"
    refused = replace(parcel, versions={**parcel.versions, "numpy": "0.0"}).answer()
    assert (refused.status, refused.certificate) == ("failed", None)
    assert "(here 0.0)" in refused.reason
