"""The verifier recomputes lower limits from counts, and refuses whatever does not follow from them."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from flint import arb
from fuzz import pool
from scipy.stats import binom

import dalenius as dl
from dalenius.verifier.balls import precision
from dalenius.verifier.channels.samples import _tail
from dalenius.verifier.verify import verify_here

Json = Any


@cache
def sample() -> pool.Sample:
    return pool.sampled(knowledge=0.3)


def test_a_tail_in_balls_is_above_the_truth_and_close_to_it() -> None:
    with precision():
        for n, c, p in [(10, 7, 0.3), (1000, 300, 0.25), (10**6, 330_000, 0.328), (5, 5, 0.9), (10**5, 3, 1e-6)]:
            true = float(binom.sf(c - 1, n, p))
            found = float(_tail(n, c, arb(p)))
            assert true * (1 - 1e-9) <= found <= 1.05 * true
        assert not _tail(10, 3, arb(0.5)) < 1
        assert not _tail(10, 3, arb(1)) < 1


def bits(samples: Json, share: float) -> None:
    """Move this much from what tells the set to an output that was listed."""
    samples["rows"][0][0] += share
    samples["rows"][0][-3] -= share


def _count(samples: Json, step: int) -> None:
    samples["counted"][0]["counts"][0][0] += step * 30


def _unseen(samples: Json) -> None:
    """Call an output that came never seen."""
    samples["counted"][1]["counts"][0][0] = 0


def _elsewhere(samples: Json) -> None:
    row = samples["rows"][0]
    row[-3], row[-2] = row[-2], row[-3]


FORGERIES: dict[str, tuple[Callable[[Json], object], str]] = {
    "an entry above its limit": (lambda s: bits(s, 1e-5), "above the lower limit of an output seen"),
    "one count less": (lambda s: _count(s, -1), "above the lower limit"),
    "more confidence": (lambda s: s.update(confidence=0.91), "above the lower limit"),
    "certainty": (lambda s: s.update(confidence=1.0), "confidence of 1"),
    "the whole chance for each part": (lambda s: [p.update(share=1.0) for p in s["counted"]], "add up to more than 1"),
    "more draws than there were": (lambda s: s["counted"][0].update(draws=[2200] * 3), "above the lower limit"),
    "fewer draws than counts": (lambda s: s["counted"][0].update(draws=[100] * 3), "a count must be|counts more"),
    "an output never seen": (_unseen, "above the lower limit of an output seen 0 times"),
    "the rest on another set": (_elsewhere, "on another set than its own"),
    "rows that sum to less": (lambda s: s["rows"][0].__setitem__(-3, 0.1), "sums to"),
    "fewer sets than classes": (lambda s: s["rows"].pop(), "has 3 entries where 2|sets of samples"),
    "an own key": (lambda s: s.update(more=1), "and nothing else"),
    "sets that do not exist": (lambda s: s.update(sets=[0, 1, 3]), "the set of a class"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str) -> None:
    change, words = FORGERIES[name]
    data = copy.deepcopy(sample().data)
    assert verify_here(data).verified
    change(data["problem"]["samples"])
    with pytest.raises(AssertionError, match=words):
        assert verify_here(data).verified, verify_here(data).reason


def test_nothing_is_shown_from_below() -> None:
    data = copy.deepcopy(sample().data)
    data["lower"] = 1e-9
    assert "samples show nothing from below" in verify_here(data).reason


def test_the_channel_above_is_not_the_mechanism() -> None:
    """A certificate by samples does not pass for one of rows, nor for another confidence."""
    query = dl.queries.count(n=2)
    outputs = {a: [0, 1, 2] * 300 for a in range(3)}
    known, other = (dl.Mechanism.from_samples(outputs, query, confidence=c) for c in (0.9, 0.95))
    found = dl.audit(known, knowledge=0.3)
    assert dl.verify(found.certificate, known).verified
    for wrong in (known.above, other):
        assert "known by samples, or with another confidence" in dl.verify(found.certificate, wrong).reason


def test_a_design_does_not_rest_on_samples() -> None:
    design = dl.design(dl.queries.count(n=2), distortion=0.3, entropy=0.5, tolerance=1e-2)
    data = copy.deepcopy(design.certificate.data)
    data["audit"] = sample().data
    assert "known by samples; a design states its mechanism" in verify_here(data).reason
