"""Trees whose batches are bounded in other processes: the same certificate, whoever bounds them and whoever dies."""

import math
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cases import random_channel

import dalenius as dl
from dalenius.auditing.all_records import audit_records
from dalenius.model.adversary import Adversary
from dalenius.model.problem import AuditProblem
from dalenius.search.best_first import Parts
from dalenius.search.crew import Crew, Task
from dalenius.search.deadline import Deadline
from dalenius.search.processes import Processes, crew_of

MECHANISM = random_channel([2, 2, 2], 4, seed=3)


def early(*kinds: str) -> dl.Settings:
    """Several small batches under way from the first nodes on, so that a small tree has what a long one has."""
    small = {"box_batch": 4, "posterior_batch": 4, "simplex_batch": 4, "choice_batch": 4}
    trees = replace(dl.Settings().trees, round_nodes=8, round_batches=5, **small)
    return dl.Settings(trees=trees, **({"portfolio": dl.settings.only(*kinds)} if kinds else {}))


def audited(jobs: object, settings: dl.Settings, nodes: int = 300) -> dl.Audit:
    return dl.audit(MECHANISM, knowledge=0.4, secret=0, nodes=nodes, jobs=jobs, settings=settings, verify=False)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "nodes"), [("boxes", 300), ("posteriors", 200), ("simplices", 250), ("rows", 300)])
def test_the_certificate_does_not_depend_on_the_number_of_processes(kind: str, nodes: int) -> None:
    alone, three = (audited(jobs, early(kind), nodes) for jobs in (1, 3))
    assert alone.nodes > 100
    assert three.certificate.data == alone.certificate.data
    assert (three.nodes, three.stopped) == (alone.nodes, alone.stopped)
    assert dl.verify(three.certificate)


class Mortal(Processes):
    """Kills its other processes while they have batches."""

    murders = 0

    def bounded(self, tasks: Sequence[Task], deadline: Deadline) -> Parts:
        for other in self._others if self.murders < 3 else []:
            if other.held:
                os.kill(other.pid, signal.SIGKILL)
                self.murders += 1
        return super().bounded(tasks, deadline)


def run(crew: Crew) -> dict[str, Any]:
    adversary = Adversary.from_user(MECHANISM.records, None, 0.4)
    problem = AuditProblem(MECHANISM, adversary, None, 1e-6, early("posteriors"), 0.0)
    with crew:
        found = audit_records(problem, Deadline(math.inf, most_nodes=400, crew=crew), 0)
    proof = found[0].audit.proof
    return {"upper": proof.upper, "splits": proof.nodes.split, "nodes": proof.nodes.size}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_what_a_process_had_that_died_is_bounded_here() -> None:
    mortal = Mortal(8, 5, 3)
    assert run(mortal) == run(Crew(8, 5))
    assert mortal.murders >= 3


def test_processes_end_with_their_crew() -> None:
    crew = Processes(8, 5, 3)
    with crew:
        run(crew)
    assert crew._others == []


def test_several_batches_are_under_way_where_a_tree_is_long() -> None:
    assert [Crew(100, 8).batches_of(size) for size in (1, 99, 100, 10**6)] == [1, 1, 8, 8]
    assert Crew().batches_of(10**6) == 1


def test_a_tree_is_a_proof_while_batches_are_under_way() -> None:
    adversary = Adversary.from_user(MECHANISM.records, None, 0.4)
    problem = AuditProblem(MECHANISM, adversary, None, 1e-6, early("posteriors"), 0.0)
    found = audit_records(problem, Deadline(math.inf, most_nodes=200, crew=Crew(8, 5)), 0)
    nodes = found[0].audit.proof.nodes  # type: ignore[attr-defined]
    assert len(nodes.under_way) == 4
    assert len(nodes.leaf) == (nodes.size + 1) / 2
    assert nodes.upper == max(bound for bound, _ in nodes.leaf.values())
    assert sum(not isinstance(entry, tuple) for entry in nodes.preorder()) == len(nodes.leaf)


class Client:
    """What is needed of a Dask client, in this process."""

    asked = 0

    def submit(self, function: Any, work: Any, **options: Any) -> Any:  # noqa: ANN401
        assert options == {"pure": False, "retries": 2}
        self.asked += 1
        return function(work)

    def gather(self, tasks: list[Any]) -> list[Any]:
        return tasks


def test_a_client_in_place_of_a_number() -> None:
    client = Client()
    assert audited(client, early("posteriors")).certificate.data == audited(1, early("posteriors")).certificate.data
    assert client.asked > 5
    assert isinstance(crew_of(4, 8, 5), Processes)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two", None, True, 1025])
def test_jobs_is_a_number_of_processes(jobs: object) -> None:
    with pytest.raises(dl.InputError, match="jobs ="):
        audited(jobs, early())


def test_no_more_processes_start_than_there_are_batches_for() -> None:
    with Processes(nodes=8, batches=3, jobs=1000) as crew:
        assert crew.batches_of(100) == 3
        assert len(crew._others) == 2
