"""A gap of a share of the upper bound ends an audit, or a design, as well as the tolerance does."""

import json
from pathlib import Path

import pytest
from cases import named, random_channel
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.studies.task import Task


def test_a_share_of_the_upper_bound_is_enough() -> None:
    mechanism = random_channel([2, 2, 2], 3, 4)
    exact = dl.audit(mechanism, knowledge=0.3, tolerance=1e-7)
    rough = dl.audit(mechanism, knowledge=0.3, relative=0.05, tolerance=1e-9)
    assert rough.stopped == "gap"
    assert rough.closed
    assert 1e-9 < rough.gap <= 0.05 * rough.upper
    assert rough.lower <= exact.upper
    assert exact.lower <= rough.upper
    assert rough.nodes < exact.nodes
    assert rough.verify().verified


def of_samples() -> dl.Mechanism:
    return dl.Mechanism.from_samples(lambda _, size: [0] * size, dl.queries.count(1), draws=500)


ROADS = {  # every way from a search to an audit: the mechanism, and what is asked
    "in a ball": (lambda: named("count(n=3)", "geometric(epsilon=1)"), {"knowledge": 0.3, "nodes": 1}),
    "independent": (
        lambda: named("count(n=3)", "geometric(epsilon=1)"),
        {"knowledge": 0.3, "adversary": "independent"},
    ),
    "the paper's": (lambda: named("count(n=1)", "constant()"), {"knowledge": 0.3, "method": "paper"}),
    "real outputs": (lambda: named("count(n=1)", "laplace(epsilon=1, output='real')"), {"knowledge": 0.3}),
    "real records": (lambda: named("real_sum(n=1, low=0, high=1)", "laplace(scale=1)"), {"adversary": "independent"}),
    "samples": (of_samples, {"knowledge": 0.3}),
}


@pytest.mark.parametrize("road", ROADS)
def test_a_search_is_stopped_by_its_gap_where_the_gap_is_closed_and_nowhere_else(road: str) -> None:
    build, asked = ROADS[road]
    for limits in ({"tolerance": 1e-9}, {"tolerance": 1e-9, "relative": 0.99}, {"tolerance": 1.0}):
        audit = dl.audit(build(), **asked, **limits, time_limit=0.5, verify=False)
        assert audit.closed == (audit.stopped == "gap"), limits
    assert audit.closed


def test_every_record_is_within_the_share_of_the_worst() -> None:
    audit = dl.audit(random_channel([2, 3, 2], 3, 2), knowledge=0.3, relative=0.04, tolerance=1e-9)
    assert audit.closed
    assert max(bracket.upper for bracket in audit.records) <= audit.lower / (1 - 0.04) + 1e-12


def test_a_file_without_it_is_of_an_older_version(tmp_path: Path) -> None:
    audit = dl.audit(random_channel([2, 2], 3, 4), knowledge=0.3, relative=0.1, tolerance=1e-9)
    assert audit.gap > audit.tolerance
    audit.save(tmp_path / "audit.json")
    assert (audit.to_dict()["relative"], audit.stopped, audit.closed) == (0.1, "gap", True)
    content = json.loads((tmp_path / "audit.json").read_text())
    del content["relative"]
    (tmp_path / "older.json").write_text(json.dumps(content))
    assert dl.load(tmp_path / "older.json").stopped == "nearly"


@pytest.mark.parametrize("relative", [-0.1, 1.0, float("nan"), "all", True])
def test_what_is_no_share_is_refused(relative: object) -> None:
    refuses("relative", dl.audit, named("count(n=2)", "geometric(epsilon=1)"), knowledge=0.3, relative=relative)


def test_of_a_curve_and_on_the_command_line() -> None:
    mechanism = random_channel([2, 2], 3, 4)
    curve = dl.curve(mechanism, [0.9, 1.1], relative=0.1, tolerance=1e-9)
    assert all(audit.closed and audit.relative == 0.1 for audit in curve.audits)
    asked = ["audit", "--query", "count(n=4)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "0.5", "--json"]
    answer = CliRunner().invoke(main, [*asked, "--relative", "0.1", "--tolerance", "1e-9"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert found["relative"] == 0.1
    assert found["gap"] <= 0.1 * found["upper"]


@pytest.mark.slow
def test_a_design_ends_at_a_share_of_its_optimum(tmp_path: Path) -> None:
    asked = {"distortion": 0.3, "entropy": 1.2}
    fine = dl.design(dl.queries.count(n=3), **asked, tolerance=1e-4)
    rough = dl.design(dl.queries.count(n=3), **asked, tolerance=1e-9, relative=0.05)
    assert (rough.stopped, rough.closed) == ("gap", True)
    assert 1e-9 < rough.gap <= 0.05 * rough.upper
    assert rough.rounds < fine.rounds
    assert max(rough.lower, fine.lower) <= min(rough.upper, fine.upper)
    assert rough.verify().verified
    assert "within 5 % of the upper bound" in rough.summary()
    rough.save(tmp_path / "design.json")
    loaded = dl.load(tmp_path / "design.json")
    assert (loaded.relative, loaded.stopped, loaded.closed) == (0.05, "gap", True)
    assert loaded.to_dict()["relative"] == 0.05


def test_a_design_of_least_distortion_on_the_command_line() -> None:
    asked = ["design", "--query", "count(n=2)", "--leakage", "0.1", "--entropy", "0.8", "--json", "--tolerance", "1e-9"]
    answer = CliRunner().invoke(main, [*asked, "--relative", "0.1"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert (found["relative"], found["stopped"]) == (0.1, "gap")
    assert 1e-9 < found["gap"] <= 0.1 * found["upper"]


@pytest.mark.parametrize("relative", [-0.1, 1.0])
def test_what_is_no_share_is_refused_by_designs(relative: float) -> None:
    refuses("relative", dl.design, dl.queries.count(n=2), distortion=0.2, knowledge=0.3, relative=relative)


def test_a_file_of_studies_takes_it_for_designs_and_not_for_calibrations() -> None:
    asked = {"query": "count(n=2)", "entropy": 0.8, "relative": 0.1}
    assert Task(task="design", distortion=0.2, **asked).options()["relative"] == 0.1
    with pytest.raises(ValueError, match="relative is a key of task = 'audit' or 'design'"):
        Task(task="calibrate", family="geometric", leakage=0.2, **asked)
