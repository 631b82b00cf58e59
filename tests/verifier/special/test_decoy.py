"""Certificates of truth or decoy, and of designs in blocks: right ones pass, forged ones are refused with the place."""

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb
from kinds import Json
from verdicts import accepted, by_hand, refused

import dalenius as dl
from dalenius.bounds.decoys.programme import DecoySearch
from dalenius.designing.designer import DesignSearch
from dalenius.model.reference import UNIFORM
from dalenius.settings import Limits
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.special.decoy import _supremum

# Truth or decoy alone, and quickly.
FEW = DesignSearch(fewer_outputs=(2,), audited_outputs=2, decoys_alone=2, searched_outputs=(2,))
QUICK = dl.Settings(parts=(FEW, DecoySearch(changes=1, sides=2)))
IN_BLOCKS = dl.Settings(parts=(DecoySearch(changes=0, blocks=5),), limits=Limits(design_pairs=100))
COUNT = dl.queries.count(n=6)


@cache
def written(knowledge: float = 0.1) -> str:
    design = dl.design(COUNT, distortion=0.6, knowledge=knowledge, tolerance=0.5, settings=QUICK, verify=False)
    return json.dumps(design.certificate.data["audit"])


@cache
def in_blocks(**budget: float) -> str:
    design = dl.design(dl.queries.count(n=30), knowledge=0.1, settings=IN_BLOCKS, verify=False, **budget)
    return design.certificate.text()


def value(data: Json) -> Json:
    return data["proofs"][0]["values"][0]


def moved(data: Json, key: str, *place: int, by: float) -> None:
    """Change a number of the proof, or of its first value."""
    here = data["proofs"][0]
    here = here[key] if key in here else value(data)[key]
    for k in place[:-1]:
        here = here[k]
    here[place[-1]] += by


FORGERIES: list[tuple[Callable[[Json], Any], str]] = [
    (lambda c: c["proofs"][0]["own"].__setitem__(0, 1), "same own output"),
    (lambda c: c["proofs"][0]["own"].__setitem__(0, 7), "from 0 to 6"),
    (lambda c: c["proofs"][0].update(alpha=[], nu=[]), "needs a decoy"),
    (lambda c: moved(c, "alpha", 1, 0, by=2.0), "needs a decoy"),
    (lambda c: moved(c, "r", 3, by=-c["proofs"][0]["r"][3]), "r above 0"),
    (lambda c: c["proofs"][0].update(s=0.0), "s must be above 0"),
    (lambda c: moved(c, "nu", 1, 0, by=-0.5), "probability below 0"),
    (lambda c: moved(c, "nu", 1, 3, by=1e-3), "exceeds claimed"),
    (lambda c: moved(c, "alpha", 0, 5, by=0.05), ""),
    (lambda c: c["problem"]["rows"].__setitem__(0, c["problem"]["rows"][6]), ""),
    (lambda c: c["proofs"][0]["values"].pop(), "entries where 2 are needed"),
    (lambda c: moved(c, "top", 3, by=-0.1), "row 3 may have more mass"),
    (lambda c: moved(c, "grid", 0, 0, by=0.05), "does not enclose"),
    (lambda c: moved(c, "grid", 1, 1, by=-0.05), "does not enclose"),
    (lambda c: value(c)["grid"][0].reverse(), "ascending"),
    (lambda c: value(c)["grid"].__setitem__(1, [0.5]), "two points or more"),
    (lambda c: value(c)["grid"][0].__setitem__(0, -9.0), "negative weight at a corner"),
    (lambda c: value(c)["tilts"].__setitem__(0, [1e6, 1e6]), "does not enclose"),
    (lambda c: value(c)["lam"].pop(), "entries where 8 are needed"),
    (lambda c: moved(c, "lam", 0, by=0.1), "exceeds claimed"),
    (lambda c: moved(c, "mu", 0, 0, by=0.5), "exceeds claimed"),
    (lambda c: moved(c, "points", 0, 3, by=9.0), "concave part"),
    (lambda c: value(c)["points"][0].__setitem__(3, 0.0), "concave part"),
    (lambda c: c["proofs"][0].update(upper=c["proofs"][0]["upper"] - 1e-6), "exceeds claimed"),
    (lambda c: c["adversary"].update(knowledge=0.11), ""),
    (lambda c: c["proofs"][0].update(steps=[{"step": "grid"}]), "takes no steps"),
]


@pytest.mark.parametrize("knowledge", [0.1, 0.8])
def test_what_is_found_is_verified(knowledge: float) -> None:
    data = json.loads(written(knowledge))
    assert data["proofs"][0]["kind"] == "decoy"
    assert accepted(data).rested_on == "kernel, names, decoy"


@pytest.mark.parametrize(("forge", "words"), FORGERIES)
def test_forgeries_are_refused(forge: Callable[[Json], Any], words: str) -> None:
    data = copy.deepcopy(json.loads(written()))
    forge(data)
    data["upper"] = data["proofs"][0]["upper"]
    refused(data, words)


def test_a_channel_that_is_nearly_of_this_form_pays_for_what_differs() -> None:
    data = json.loads(written())
    row = data["problem"]["rows"][3]
    row[0], row[3] = row[0] * (1 - 1e-6), row[3] + row[0] * 1e-6
    refused(data, "exceeds claimed")
    data["upper"] = data["proofs"][0]["upper"] = data["upper"] + 2e-6
    accepted(data)


def test_suprema_are_bounded() -> None:
    rng, x = np.random.default_rng(0), np.linspace(0.0, 1.0, 4001)[1:]
    for case in range(120):
        e, c, r, s, rho = rng.uniform(0.01, 1.0, 5)
        price, top = rng.normal(0, 1), rng.uniform(rho, 1.0)
        e, c = (0.0 if case % 5 == 0 else e), (0.0 if case % 3 == 0 else c)
        s = e / 2 if case % 6 == 3 else s
        convex = e > s and c == 0
        end = top if e <= s else min(top, s * c / (e * (e - s)))
        at, w = 0.0 if convex else rng.uniform(0.05, 0.9) * end, x[x <= top]
        u = e * w + c
        values = np.where(u > 0, u * np.log(np.maximum(u, 1e-300) / r), 0) - (price + e) * w - s * w * np.log(w / rho)
        bound = float(_supremum(*map(arb, (e, c, r, price, s, rho, top, at))))
        assert bound >= values.max() - 1e-9
        assert bound >= (c * np.log(c / r) if c > 0 else 0.0) - 1e-12


def independent(data: Json) -> None:
    """Say that it is about independent records."""
    data["adversary"] = data["audit"]["adversary"] = {"independent": True}
    data["audit"]["witness"].update(kind="known", law=[0.5, 0.5], others=[29, 0])


BLOCK_FORGERIES: list[tuple[Callable[[Json], Any], str]] = [
    (lambda c: c["audit"]["problem"]["blocks"].__setitem__(0, 1), "ascending from 0"),
    (lambda c: c["audit"]["problem"]["blocks"].__setitem__(2, 1), "ascending from 0"),
    (lambda c: c["audit"]["problem"]["blocks"].__setitem__(-1, 31), "from 0 to 30"),
    (lambda c: c["audit"]["problem"].update(query="modular_sum(n=30, modulus=40)"), "runs of the answers of a count"),
    (lambda c: c["audit"]["problem"]["blocks"].__setitem__(2, c["audit"]["problem"]["blocks"][2] + 1), ""),
    (lambda c: c["problem"].update(query="count(n=31)"), "about that query"),
    (lambda c: c["problem"].update(distribution=[0.2] * 5), "uniform data"),
    (lambda c: c["problem"].update(distortion="zero-one"), "absolute or the squared"),
    (lambda c: c["problem"].update(floor=0.1), "no constraint"),
    (lambda c: c["problem"]["outputs"].__setitem__(0, 31), "from 0 to 30"),
    (lambda c: c["problem"]["outputs"].__setitem__(0, 0), "more than the claimed"),
    (lambda c: c.update(distortion=c["distortion"] - 1e-6, upper=c["upper"] - 1e-6), "more than the claimed"),
    (lambda c: c.update(lower=0.1), "less than the claimed"),
    (independent, "independent records"),
    (lambda c: c.update(beside=3), "one row per count vector"),
    (lambda c: c.update(symmetries=[{"values": [1, 0], "outputs": [4, 3, 2, 1, 0]}], lower=1e-3), "less than"),
]


@pytest.mark.parametrize(("forge", "words"), BLOCK_FORGERIES)
def test_forged_designs_in_blocks_are_refused(forge: Callable[[Json], Any], words: str) -> None:
    data = json.loads(in_blocks(leakage=0.05))
    forge(data)
    refused(data, words)


def test_designs_in_blocks_are_verified_and_cost_what_they_say() -> None:
    data = json.loads(in_blocks(leakage=0.05))
    accepted(data)
    starts, outputs, rows = (
        data["audit"]["problem"]["blocks"],
        data["problem"]["outputs"],
        data["audit"]["problem"]["rows"],
    )
    weights = np.exp(UNIFORM.log_classes(dl.queries.count(n=30).statistic))
    block = np.searchsorted(starts, np.arange(31), side="right") - 1
    cost = weights @ (np.array(rows)[block] * np.abs(np.subtract.outer(np.arange(31), outputs))).sum(axis=1)
    assert cost <= data["upper"] <= cost * (1 + 1e-9)
    accepted(json.loads(in_blocks(distortion=1.9)))


def in_two_blocks(**changes: object) -> Json:
    """A forged audit of blocks of a count."""
    proof = {
        "kind": "convex", "upper": 0.1391, "s": 1.2110390155024213, "eta": 1.0, "theta": 1.0,
        "rho": [-0.17752871137909074, -1.8160744441670664],
        "lam": [[0.1465866875351563, -8.361038542920758], [-0.2001688677839679, 0.6158349036949793]],
    }  # fmt: skip
    about = {"secret": {"kind": "records", "records": [0]}, "proofs": [proof]}
    problem = {"query": "count(n=8)", "blocks": [0, 5], "rows": [[1.0, 0.0], [0.0, 1.0]]}
    adversary = {"knowledge": 0.05, "reference": {"marginals": [[0.5, 0.5]] * 6 + [[0.0, 1.0]] * 2}}
    witness = {"kind": "masses", "masses": [[0.25, 0.25], [0.125, 0.375]]}
    return {**by_hand(problem, adversary, [], proof, witness=witness, **about), **changes}


def test_records_that_are_certain_shift_the_law_of_blocks() -> None:
    # 0.139 is the bound of six fair records and the cut at 5. Two more that surely say 1 leak 0.201 at that cut.
    refused(in_two_blocks(witness={"kind": "masses", "masses": [[3 / 16, 5 / 16], [1 / 32, 15 / 32]]}), "")
    right = in_two_blocks(problem={"query": "count(n=8)", "blocks": [0, 7], "rows": [[1.0, 0.0], [0.0, 1.0]]})
    accepted({**right, "witness": {"kind": "masses", "masses": [[31 / 64, 1 / 64], [13 / 32, 3 / 32]]}})


@pytest.mark.parametrize("reference", [{"marginal": [0.3, 0.7]}, {"marginals": [[0.3, 0.7], [0.3, 0.7], [0.31, 0.69]]}])
def test_blocks_out_of_reach_have_no_mass(reference: Json) -> None:
    forged = in_two_blocks(
        problem={"query": "count(n=3)", "blocks": [0, 1, 2, 3], "rows": [[1.0, 0.0], *[[0.5, 0.5]] * 2, [0.0, 1.0]]},
        adversary={"knowledge": 50.0, "reference": reference},
        secret={"kind": "attributes", "records": [0, 1], "values": [0, 1, 1, 0]},
        lower=0.69, upper=0.7,
        witness={"kind": "masses", "masses": [[0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5]]},
        proofs=[{"kind": "trivial", "upper": 0.7}],
    )  # fmt: skip
    refused(forged, "")


def test_long_counts_are_checked_near_their_mean() -> None:
    for measure in ("absolute", "squared"):
        query = dl.queries.count(n=5000)
        design = dl.design(query, leakage=0.05, knowledge=0.1, measure=measure, settings=IN_BLOCKS, verify=False)
        accepted(design.certificate.data)
        assert len(set(map(tuple, design.mechanism.written().rows.tolist()))) == design.mechanism.n_outputs
    # The block before the last begins beyond all that is near.
    data = json.loads(design.certificate.text())
    data["audit"]["problem"]["blocks"][-1] = 4900
    refused(data)


def test_a_mechanism_on_blocks_is_the_one_with_those_rows_repeated() -> None:
    settings = dl.Settings(parts=(DecoySearch(changes=0, blocks=3),), limits=Limits(design_pairs=10))
    design = dl.design(dl.queries.count(n=8), leakage=0.05, knowledge=0.1, settings=settings, verify=False)
    mechanism = design.mechanism
    starts = mechanism.describe()["blocks"]
    block = np.searchsorted(starts, np.arange(9), side="right") - 1
    repeated = dl.Mechanism.from_rows(dl.queries.count(n=8), mechanism.written().rows[block])
    accepted(design.leakage.certificate.data, mechanism)
    datasets = rebuild(mechanism.describe()).statistic.datasets()
    assert list(datasets) == [block[x.bit_count()] for x in range(2**8)]
    assert repeated.dp_epsilon() == mechanism.dp_epsilon()
    assert dl.audit(repeated, knowledge=0.1, time_limit=0.3).lower <= design.leakage.upper
