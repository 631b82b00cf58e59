"""What a cluster's client does, with a client that answers nothing by itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from refusals import refuses

from dalenius.studies.cluster import Cluster, Parcel
from dalenius.studies.study import Study

TEXT = """
[study]
name = "s"
[fix]
channel = "c.csv"
records = [2]
[vary]
knowledge = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
"""


@dataclass(eq=False)
class Future:
    key: str
    parcel: Parcel
    status: str = "pending"
    called: list[Callable[[Any], None]] = field(default_factory=list)

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        self.called.append(function)

    def end(self, status: str) -> None:
        self.status = status
        for function in self.called:
            function(self)

    def result(self) -> Any:
        return self.parcel.answer()

    def exception(self) -> Exception:
        return RuntimeError("no worker is left")

    def release(self) -> None:
        self.status = "released"


@dataclass
class Client:
    begun: set[str] = field(default_factory=set)
    sent: list[Future] = field(default_factory=list)
    talks: bool = True

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": {"one": {}}}

    def submit(self, _function: object, parcel: Parcel, *, key: str, **_: object) -> Future:
        self.sent.append(Future(key, parcel))
        return self.sent[-1]

    def call_stack(self, futures: Iterable[Future]) -> dict[str, Any]:
        if not self.talks:
            raise OSError
        return {"one": {future.key: () for future in futures if future.key in self.begun}}

    def cancel(self, futures: Iterable[Future]) -> None:
        for future in futures:
            future.end("cancelled")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    (tmp_path / "c.csv").write_text("0.9,0.1\n0.2,0.8\n")
    (tmp_path / "s.toml").write_text(TEXT)
    return Study.load(tmp_path / "s.toml")


@pytest.mark.parametrize("talks", [True, False])
def test_a_stop_takes_back_what_no_worker_has_begun(study: Study, talks: bool) -> None:
    client = Client(talks=talks)
    cluster = Cluster(client, "a cluster")
    answers = cluster.answers({point.key: point.work for point in study.points})
    assert next(answers) == []
    assert len(client.sent) == 4
    client.begun = {client.sent[0].key}
    cluster.stop()
    assert next(answers) == []
    client.sent[0].end("finished")
    if not talks:
        # Nobody says what is running: all that was sent is waited for.
        for future in client.sent[1:]:
            future.end("finished")
    found = [entry for few in answers for entry in few]
    assert [entry.status for entry in found] == ["done"] * (1 if talks else 4)
    assert len(client.sent) == 4


def test_a_scheduler_that_is_lost_is_a_sentence(study: Study) -> None:
    client = Client()
    answers = Cluster(client, "a cluster").answers({point.key: point.work for point in study.points})
    assert next(answers) == []
    client.sent[1].end("cancelled")
    refuses("connection to the Dask scheduler was lost; finished points are kept", next, answers)


def test_a_point_that_no_worker_survives_and_a_file_that_changed_are_failures(study: Study, tmp_path: Path) -> None:
    client = Client()
    answers = Cluster(client, "a cluster").answers({point.key: point.work for point in study.points})
    assert next(answers) == []
    client.sent[0].end("error")
    assert [entry.reason for entry in next(answers)] == ["on the cluster: no worker is left"]
    (tmp_path / "c.csv").write_text("0.5,0.5\n0.5,0.5\n")
    assert ["has changed since" in entry.reason for entry in next(answers)] == [True]
