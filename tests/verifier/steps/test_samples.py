"""The verifier recomputes lower limits from counts, and refuses whatever does not follow from them."""

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from flint import arb
from fuzz import pool
from kinds import Json
from scipy.stats import binom

import dalenius as dl
from dalenius.model.channels.sampled import Counted, sampled
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps.samples import _check_names, _tail
from dalenius.verifier.verify import verify_here


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


def _twice(samples: Json, *, across: bool) -> None:
    """Give an output the name of another, of the same part or of the part before."""
    first, second = samples["counted"]
    second["outputs"][0] = (first if across else second)["outputs"][-1]


FORGERIES: dict[str, tuple[Callable[[Json], object], str]] = {
    "an entry above its limit": (lambda s: bits(s, 1e-5), "above the lower limit of an output seen"),
    "one count less": (lambda s: _count(s, -1), "above the lower limit"),
    "more confidence": (lambda s: s.update(confidence=0.91), "above the lower limit"),
    "certainty": (lambda s: s.update(confidence=1.0), "confidence of 1"),
    "no confidence": (lambda s: s.update(confidence=0.0), "a confidence of 0 says nothing"),
    "the whole chance for each part": (lambda s: [p.update(share=1.0) for p in s["counted"]], "add up to more than 1"),
    "more draws than there were": (lambda s: s["counted"][0].update(draws=[2200] * 3), "above the lower limit"),
    "fewer draws than counts": (lambda s: s["counted"][0].update(draws=[100] * 3), "a count must be|counts more"),
    "an output never seen": (_unseen, "above the lower limit of an output seen 0 times"),
    "the rest on another set": (_elsewhere, "on another set than its own"),
    "rows that sum to less": (lambda s: s["rows"][0].__setitem__(-3, 0.1), "sums to"),
    "fewer sets than classes": (lambda s: s["rows"].pop(), "has 3 entries where 2|sets of samples"),
    "an own key": (lambda s: s.update(more=1), "and nothing else"),
    "sets that do not exist": (lambda s: s.update(sets=[0, 1, 3]), "the set of a class"),
    "an output in two columns": (lambda s: _twice(s, across=False), "is counted twice"),
    "an output in two parts": (lambda s: _twice(s, across=True), "the output 2 is counted twice"),
    "no names": (lambda s: s["counted"][0].pop("outputs"), "counted samples lacks 'outputs'"),
    "fewer names than columns": (lambda s: s["counted"][0]["outputs"].pop(), "has 2 entries where 3 are needed"),
    "more names than columns": (lambda s: s["counted"][0]["outputs"].append(9), "has 4 entries where 3 are needed"),
    "an output without a name": (lambda s: s["counted"][0].update(outputs=[None, 1, 2]), "the name of an output"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str) -> None:
    change, words = FORGERIES[name]
    data = copy.deepcopy(sample().data)
    assert verify_here(data).verified
    change(data["problem"]["samples"])
    with pytest.raises(AssertionError, match=words):
        assert verify_here(data).verified, verify_here(data).reason


@pytest.mark.parametrize(
    ("names", "same"),
    [
        ([1, 1.0], True),
        ([1, True], True),
        (["1", 1], False),
        ([[1, 2], [1.0, 2.0]], True),
        ([[1, 2], [2, 1]], False),
        ([[1, 2], "1,2"], False),
    ],
)
def test_names_are_compared_as_values(names: list[Json], *, same: bool) -> None:
    if same:
        with pytest.raises(Refused, match="is counted twice"):
            _check_names(names)
    else:
        _check_names(names)


@pytest.mark.parametrize("name", [None, {}, [], [[]], float("nan"), float("inf"), [1, None]])
def test_what_is_no_name_is_refused(name: Json) -> None:
    with pytest.raises(Refused, match="the name of an output"):
        _check_names([name])


@pytest.mark.parametrize("parts", [1, 2])
def test_an_output_that_is_counted_twice_proves_nothing(parts: int) -> None:
    """Honest counts of "a", which either class has half of the time: counted twice, nothing else seems to be left."""
    query = dl.queries.identity(k=2)
    draws, half = (10**6, 10**6), np.full((2, 2), 5 * 10**5)
    counted = [Counted(1 / parts, draws, ("a",) * (2 // parts), half[:, : 2 // parts]) for _ in range(parts)]
    found = dl.audit(sampled(query, 0.999, counted, np.arange(2)), knowledge=1.0, verify=False)
    assert found.upper < 0.01  # "b" and "c", which tell the record, come half of the time: 0.3466 is true
    assert verify_here(found.certificate).reason == "the output 'a' is counted twice"


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
        assert "another channel than the mechanism given" in dl.verify(found.certificate, wrong).reason


def test_a_design_does_not_rest_on_samples() -> None:
    design = dl.design(dl.queries.count(n=2), distortion=0.3, entropy=0.5, tolerance=1e-2)
    data = copy.deepcopy(design.certificate.data)
    data["audit"] = sample().data
    assert "of the form samples; a design states its mechanism by rows" in verify_here(data).reason
