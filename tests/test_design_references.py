"""Designs against adversaries who start from public knowledge: closed forms, invariants, and the verifier's word."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.model.distortion import Distortion
from dalenius.model.reference import Reference
from dalenius.reductions.symmetry import symmetrise
from dalenius.results.design import Design

COUNT = dl.queries.count(n=2)
LAWS = [[0.8, 0.2], [0.6, 0.4]]


def design(reference: object, **changes: object) -> Design:
    asked = {"distortion": 0.3, "knowledge": 0.4, "tolerance": 2e-3, **changes}
    return dl.design(COUNT, reference=reference, **asked)


def overlap(one: Design, other: Design) -> bool:
    return one.lower <= other.upper and other.lower <= one.upper


def test_a_uniform_reference_changes_nothing() -> None:
    plain = design(None)
    for reference in ([0.5, 0.5], [[0.5, 0.5]] * 2, np.full(4, 1 / 4)):
        stated = design(reference)
        assert overlap(plain, stated)
        assert dl.verify(stated)


def test_weights_of_independent_records_are_their_laws() -> None:
    laws = design(LAWS)
    weights = np.array([math.prod(LAWS[i][v] for i, v in enumerate(x)) for x in np.ndindex(2, 2)])
    assert overlap(laws, design(weights))
    assert overlap(laws, design(LAWS[::-1]))  # the same people in another order
    assert dl.verify(laws)
    assert "independent records with laws" in dl.verify(laws).problem


def test_mirrored_laws_are_the_mirrored_problem() -> None:
    one, other = design([0.8, 0.2]), design([0.2, 0.8])
    assert overlap(one, other)
    assert dl.verify(one)
    assert dl.verify(other)


def test_the_domain_keeps_no_symmetry_that_the_reference_lacks() -> None:
    task = Distortion.from_user(dl.queries.count(n=3))
    rho = Reference.from_user
    assert len(symmetrise(task).symmetries) == 1
    assert symmetrise(task, rho([0.5, 0.5], (2, 2, 2))).symmetries == symmetrise(task).symmetries
    assert symmetrise(task, rho([0.8, 0.2], (2, 2, 2))).symmetries == ()
    assert symmetrise(task, rho([0.8, 0.2], (2, 2, 2))).statistic == dl.queries.count(n=3).statistic
    single = symmetrise(task, rho([*LAWS, [0.5, 0.5]], (2, 2, 2)))
    assert single.statistic.size == 8
    assert all(s["records"] == [0, 1, 2] for s in single.symmetries)
    pair = symmetrise(task, rho([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5]], (2, 2, 2)))
    assert [1, 0, 2] in [s["records"] for s in pair.symmetries]


def test_parity_is_designed_on_counts_where_bits_are_biased() -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    fair = dl.design(query, distortion=0.2, knowledge=0.3, reference=[0.5, 0.5])
    assert fair.mechanism.rows.shape[0] == 2
    biased = dl.design(query, distortion=0.2, knowledge=0.3, reference=[0.9, 0.1], tolerance=1e-3)
    assert biased.mechanism.rows.shape[0] == 3
    assert dl.verify(biased)


def test_a_budget_of_no_leakage() -> None:
    found = design([0.9, 0.1], distortion=None, leakage=0.0, knowledge=0.0)
    assert found.gap <= 1e-3
    assert found.leakage.upper <= 1e-9
    assert dl.verify(found)


def test_duals_and_frontiers() -> None:
    found = design([0.8, 0.2], distortion=None, leakage=0.1)
    assert found.leakage.upper <= 0.1
    assert "beyond the reference" in repr(found)
    frontier = dl.frontier(COUNT, knowledge=0.4, reference=[0.8, 0.2], points=2, named=False, time_limit=20)
    assert all(dl.verify(point) for point in frontier.designs)


def test_bad_input_is_refused() -> None:
    with pytest.raises(dl.InputError, match="entropy counts from the uniform prior"):
        dl.design(COUNT, distortion=0.3, entropy=1.0, reference=[0.8, 0.2])
    refuses("gives no mass to", design, [1.0, 0.0])
    refuses("not reference=", design, [0.8, 0.2], method="paper")
    refuses("laws for 2 records", design, [[0.8, 0.2]] * 3)


def test_the_command_reads_a_reference(tmp_path: Path) -> None:
    law, certificate = tmp_path / "law.csv", tmp_path / "certificate.json"
    law.write_text("0.8,0.2\n")
    arguments = ["design", "--query", "count(n=2)", "--distortion", "0.3", "--tolerance", "2e-3", "--json"]
    ran = CliRunner().invoke(
        main, [*arguments, "--knowledge", "0.4", "--reference", str(law), "--certificate", str(certificate)]
    )
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.stdout)
    assert answer["entropy"] is None
    assert dl.verify(certificate)
    refused = CliRunner().invoke(main, [*arguments, "--entropy", "1", "--reference", str(law)])
    assert refused.exit_code == 2
