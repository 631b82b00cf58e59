"""Witnesses that tie an attribute to the number of records that share it: beside brute force, and damaged."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from verdicts import refused

import dalenius as dl
from dalenius.model.counted import TiedPrior
from dalenius.model.secret import Attributes
from dalenius.search.deadline import Deadline
from dalenius.search.tied import TiedSearch, tie
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.verify import verify_here

Change = Callable[[dict[str, Any]], object]


def test_what_it_tells_is_told_by_brute_force() -> None:
    """Four values of five people, two of which share each value of the attribute."""
    mechanism = dl.mechanisms.geometric(dl.queries.table(n=5, shape=[2, 2]), epsilon=1)
    secret = Attributes(np.array([0, 0, 1, 1]), (0, 1), (2,), ("attribute 0",))
    settings = TiedSearch(levels=4)
    found = tie(mechanism, 0.2, Deadline(60), settings, together=2)
    assert found is not None
    assert found.decoder.scores
    prior = TiedPrior.of_counts(mechanism, secret, found.law, decoder=found.decoder, leaked=found.lower)
    weights = prior.weights()
    assert weights.sum() == pytest.approx(1)
    datasets = np.indices((4,) * 5).reshape(5, -1)
    assert prior.probability(datasets[:, 37]) == pytest.approx(weights[37])
    assert weights @ np.log(weights * weights.size) == pytest.approx(prior.divergence())
    assert prior.divergence() <= 0.2
    classes = mechanism.statistic.class_table()
    joint = np.zeros((2, mechanism.statistic.size))
    np.add.at(joint, (datasets[2] // 2, classes), weights)
    told = joint @ mechanism.written().rows
    leaked = (told * np.log(told / (told.sum(axis=1, keepdims=True) * told.sum(axis=0)))).sum()
    assert 0.7 * leaked < found.lower <= leaked


def test_less_than_half_of_what_an_attribute_of_eighty_people_leaks_is_open() -> None:
    """Guesses by the law of the own score beside that of any score, not of another one, told 0.0529 only."""
    mechanism = dl.mechanisms.geometric(dl.queries.table(n=80, shape=(2, 5)), epsilon=0.5)
    audit = dl.audit(mechanism, knowledge=0.2, secret="0.0")
    assert dl.verify(audit)
    assert 0.0635 < audit.lower <= audit.upper < 0.1221


def test_an_attribute_of_one_value_leaks_nothing() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.table(n=80, shape=(1, 5)), epsilon=0.5)
    audit = dl.audit(mechanism, knowledge=0.2, secret="0.0")
    assert audit.lower == 0
    assert audit.upper < 1e-15


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """An attribute of three values of sixty people."""
    mechanism = dl.mechanisms.geometric(dl.queries.table(n=60, shape=[2, 3]), epsilon=0.6)
    audit = dl.audit(mechanism, knowledge=0.2, secret="0.1", relative=0.9, verify=False)
    assert isinstance(audit.prior, TiedPrior)
    data: dict[str, Any] = audit.certificate.data
    assert data["witness"]["scores"]
    return data


REFUSED: list[tuple[str, Change, str]] = [
    ("lower", lambda d: d.update(lower=1.02 * d["lower"]), "leaks"),
    ("scores", lambda d: d["witness"]["scores"].reverse(), "the scores of the witness do not ascend"),
    ("other scores", lambda d: d["witness"].update(scores=[x + 3 for x in d["witness"]["scores"]]), "leaks"),
    ("no scores", lambda d: d["witness"].pop("scores"), "scores"),
    ("no score", lambda d: d["witness"].update(scores=[]), "cuts of the witness"),
    ("cuts", lambda d: d["witness"]["cuts"].append(2 * len(d["witness"]["scores"]) + 1), "cuts of the witness"),
    ("labels", lambda d: d["secret"].update(values=[0, 1, 2, 0, 1, 1]), ""),
    ("kind", lambda d: d["witness"].update(kind="counted"), "about the whole record"),
]


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_forgery_is_refused(sound: dict[str, Any], change: Change, reason: str) -> None:
    assert verify_here(sound)
    data = copy.deepcopy(sound)
    change(data)
    refused(data, reason)


def test_very_many_scores_are_too_many_to_check(sound: dict[str, Any]) -> None:
    with sized(numbers=1000):
        refused(sound, "the law of the scores of the witness takes more than 1000 numbers")
