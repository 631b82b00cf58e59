"""Priors that tie every value to its own count: beside all datasets and outputs, and as priors that people hold."""

import math
from itertools import product

import numpy as np
import pytest
from large_samples import HISTOGRAMS, both_histograms
from refusals import refuses

import dalenius as dl
from dalenius.bounds.counted import CountedSearch
from dalenius.bounds.moved_counts import MovedSearch
from dalenius.model.counted import TiedPrior
from dalenius.numerics.information import mutual_information
from dalenius.search import tied
from dalenius.search.deadline import Deadline
from dalenius.search.tied import Tied, TiedSearch, tie, tie_others

SETTINGS = TiedSearch()


def joint_of(found: Tied, mechanism: str, query: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(secret, output) of record 0 by brute force; the outputs as counts; the reference of (secret, class)."""
    large, dense = both_histograms(mechanism, query)
    prior = TiedPrior.of_counts(large, 0, found.law, decoder=found.decoder, leaked=found.lower, tilt=found.tilt)
    weights = prior.weights()
    values = np.arange(weights.size) // (weights.size // large.k)
    joint = np.zeros((large.k, dense.statistic.size))
    np.add.at(joint, (values, dense.statistic.class_table()), weights)
    outputs = np.array(list(product(range(large.n + 1), repeat=large.k)))
    return joint @ dense.rows, outputs, weights


@pytest.mark.parametrize(("mechanism", "query"), HISTOGRAMS)
@pytest.mark.parametrize("knowledge", [0.0, 0.01, 0.3, 2.0])
def test_the_bound_is_what_the_guess_tells_over_all_datasets_and_outputs(
    mechanism: str, query: str, knowledge: float
) -> None:
    large, _ = both_histograms(mechanism, query)
    found = tie(large, knowledge, Deadline(60), SETTINGS)
    joint, outputs, weights = joint_of(found, mechanism, query)
    weight = np.array(found.decoder.weights)[np.searchsorted(found.decoder.cuts, outputs, side="right")]
    guess = np.log(weight / weight.sum(axis=1, keepdims=True)).T
    told = math.log(large.k) + float((joint * guess).sum())
    assert weights.sum() == pytest.approx(1)
    assert joint.sum(axis=1) == pytest.approx(1 / large.k)
    # Exponentials in place of the logarithm cost little, and never add anything.
    assert told - 1e-4 < found.lower <= told
    # No guess tells more than there is, and this one tells nearly as much.
    assert 0.98 * mutual_information(joint) < found.lower <= mutual_information(joint)
    assert float(weights @ np.log(weights.clip(1e-300))) + large.log_universe <= knowledge + 1e-9


@pytest.mark.parametrize(("mechanism", "query"), HISTOGRAMS[:3])
def test_the_same_where_the_counts_of_others_are_tilted(
    mechanism: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tied, "SHARES", (1.0,))
    large, _ = both_histograms(mechanism, query)
    t = np.arange(large.n + 1)
    found = tie_others(large, 0.5, (0.5 * t, 0.2 * (t - 1.0) ** 2), Deadline(60), SETTINGS)
    joint, outputs, weights = joint_of(found, mechanism, query)
    weight = np.array(found.decoder.weights)[np.searchsorted(found.decoder.cuts, outputs, side="right")]
    told = math.log(large.k) + float((joint * np.log(weight / weight.sum(axis=1, keepdims=True)).T).sum())
    assert weights.sum() == pytest.approx(1)
    assert joint.sum(axis=1) == pytest.approx(1 / large.k)
    assert told - 1e-4 < found.lower <= told
    divergence = float(weights @ np.log(weights.clip(1e-300))) + large.log_universe
    prior = TiedPrior.of_counts(large, 0, found.law, decoder=found.decoder, leaked=found.lower, tilt=found.tilt)
    assert prior.divergence() == pytest.approx(divergence, abs=1e-9)
    assert divergence == pytest.approx(0.5, abs=1e-6)
    place = int(np.argmax(weights))
    assert prior.probability(np.unravel_index(place, large.records)) == pytest.approx(weights[place])


def test_a_tie_tells_more_than_one_count() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=200, k=6), epsilon=1)
    quick = (MovedSearch(room=0), CountedSearch(outputs=1))
    audit, alone = (
        dl.audit(mechanism, knowledge=0.3, settings=dl.Settings(parts=(*quick, TiedSearch(rounds=rounds))))
        for rounds in (SETTINGS.rounds, 0)
    )
    assert alone.prior.mechanism.part is not None
    assert audit.lower > 1.3 * alone.lower
    assert audit.upper == alone.upper
    assert dl.verify(audit)


def test_what_a_dataset_has_of_the_prior_follows_from_its_own_count() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=40, k=5), epsilon=1)
    quick = dl.Settings(parts=(CountedSearch(few=0, outputs=0),))
    prior = dl.audit(mechanism, knowledge=0.5, secret=7, relative=0.5, settings=quick).prior
    x = np.arange(40) % 5
    ratio = prior.masses[x[7], 8] / math.exp(prior.log_reference()[x[7], 8])
    assert prior.probability(x) == pytest.approx(ratio * 5.0**-40)
    refuses("at least", prior.joint)


def test_wide_windows_are_left_to_one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tied, "ENTRIES", 2**16)
    mechanism = dl.mechanisms.gaussian(dl.queries.histogram(n=20_000, k=3), sigma=2000)
    assert tie(mechanism, 0.1, Deadline(60), SETTINGS) is None
