"""Every question of the library x the same laws: bits and nats, an interrupt, options that make no sense."""

import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import LN2, named
from refusals import refuses
from verdicts import holds

import dalenius as dl
from dalenius.search.deadline import Progress

COUNT, SLOW = named("count(n=3)", "geometric(epsilon=1)"), named("count(n=5)", "geometric(epsilon=2)")
PARITY, REAL = (
    named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.2)"),
    named("count(2)", "laplace(1, output='real')"),
)
TWO, ODD = dl.queries.count(n=2), dl.queries.modular_sum(n=2, modulus=2)
PAPER = dl.paper.Method(starts=3)


def ledger(nat: float = 1.0, **options: Any) -> dl.Account:
    book = dl.Ledger(COUNT.query, **{"entropy": 1.3 / nat, "tolerance": 1e-3, **options})
    return book.release(PARITY)


# How to ask, with all amounts of information in units of so many nats.
ASK: dict[str, Callable[..., Any]] = {
    "audit": lambda nat=1.0, **o: dl.audit(
        COUNT, **{"entropy": 1.0 / nat, "tolerance": 1e-4 / nat, "relative": 0, **o}
    ),
    "law": lambda nat=1.0, **o: dl.audit(COUNT, knowledge=0.3 / nat, reference=[0.8, 0.2], tolerance=5e-3 / nat, **o),
    "real outputs": lambda nat=1.0, **o: dl.audit(REAL, knowledge=0.5 / nat, tolerance=1e-4 / nat, **o),
    "independent": lambda nat=1.0, **o: dl.audit(COUNT, adversary="independent", knowledge=0.3 / nat, **o),
    "paper": lambda nat=1.0, **o: dl.audit(PARITY, **{"knowledge": 0.4 / nat, "method": PAPER, **o}),
    "curve": lambda nat=1.0, **o: dl.curve(COUNT, [0.5 / nat, 1.0 / nat], **{"tolerance": 1e-3 / nat, **o}),
    "design": lambda nat=1.0, **o: dl.design(TWO, **{"distortion": 0.2, "entropy": 0.8 / nat, "tolerance": 1e-3, **o}),
    "dual": lambda nat=1.0, **o: dl.design(TWO, leakage=0.1 / nat, **{"entropy": 0.8 / nat, "tolerance": 1e-3, **o}),
    "frontier": lambda nat=1.0, **o: dl.frontier(
        TWO, **{"entropy": 0.8 / nat, "points": 3, "named": False, "tolerance": 1e-2, **o}
    ),
    "calibrate": lambda nat=1.0, **o: dl.calibrate(
        "geometric", PARITY.query, **{"leakage": 0.1 / nat, "entropy": 1.0 / nat, **o}
    ),
    "profile": lambda nat=1.0, **o: COUNT.profile([1.0 / nat], **{"tolerance": 1e-3, **o}),
    "ledger": ledger,
}


def brackets(result: Any) -> list[tuple[float, float]]:
    """What is bracketed, in the unit of the result."""
    if isinstance(result, dl.Calibration):
        return [(0.0, result.leakage.upper)]
    if isinstance(result, dl.Profile):
        return [*brackets(result.leakage), (result.capacity.lower, result.capacity.upper)]
    if isinstance(result, dl.Curve | dl.Frontier):
        return [pair for one in getattr(result, "audits", None) or result.designs for pair in brackets(one)]
    return [
        (result.leakage.lower, result.leakage.upper) if hasattr(result, "leakage") else (result.lower, result.upper)
    ]


@pytest.mark.parametrize("name", ASK)
def test_bits_are_nats_in_another_unit(name: str) -> None:
    nats, bits = ASK[name](), ASK[name](LN2, unit="bits")
    assert bits.unit == "bits"
    for (low, high), (lower, upper) in zip(brackets(nats), brackets(bits), strict=True):
        assert max(low, lower * LN2) <= min(high, upper * LN2) + 1e-9
        assert lower * LN2 == pytest.approx(low, abs=6e-3)
    for bound in ("maximal_leakage", "record_min_entropy_leakage", "entropy_left"):
        if hasattr(nats, bound):
            assert getattr(bits, bound) * LN2 == pytest.approx(getattr(nats, bound), abs=1e-6)
    for same in ("value", "distortion", "dp_epsilon", "dp_delta"):
        if getattr(nats, same, None) is not None:
            assert getattr(bits, same) == pytest.approx(getattr(nats, same), rel=2e-2)
    if isinstance(bits, dl.Audit):  # a bit is log 2 nats, rounded outward
        assert bits.lower * LN2 == pytest.approx(bits.certificate.lower, rel=1e-15)
        assert bits.upper * LN2 == pytest.approx(bits.certificate.upper, rel=1e-15)
        if bits.extremes is not None:
            assert bits.extremes.uniform * LN2 == pytest.approx(nats.extremes.uniform, abs=1e-9)
        assert bits.verify().verified


class Interrupt:
    """Presses Ctrl-C once, at the first report whose stage begins like this."""

    def __init__(self, stage: str = "") -> None:
        self.stage, self.pressed = stage, False

    def __call__(self, report: Progress) -> None:
        if not self.pressed and report.stage.startswith(self.stage):
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


INTERRUPTED: dict[str, tuple[Callable[..., Any], str]] = {
    "audit": (lambda **o: dl.audit(SLOW, entropy=2.0, tolerance=1e-9, **o), ""),
    "paper": (lambda **o: dl.audit(PARITY, entropy=1.0, method="paper", **o), "start 2"),
    "curve": (lambda **o: dl.curve(SLOW, knowledges=[0.5, 1.0, 1.5], tolerance=1e-9, **o), ""),
    "design": (lambda **o: dl.design(dl.queries.count(n=4), distortion=0.3, entropy=1.5, tolerance=1e-9, **o), "round"),
    "dual": (lambda **o: dl.design(dl.queries.count(n=4), leakage=0.2, entropy=1.5, tolerance=1e-9, **o), "round"),
    "design of the paper": (lambda **o: dl.design(ODD, distortion=0.1, entropy=0.0, method="paper", **o), ""),
    "frontier": (lambda **o: dl.frontier(TWO, entropy=0.5, points=6, named=False, **o), "point 2"),
    "profile": (lambda **o: SLOW.profile([0, 1], tolerance=1e-9, **o), ""),
    "many": (lambda **o: dl.audit_many([SLOW] * 3, knowledge=0.5, tolerance=1e-9, verify=False, jobs=1, **o)[-1], ""),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupt_gives_what_was_found(name: str, tmp_path: Path) -> None:
    ask, stage = INTERRUPTED[name]
    before, press = signal.getsignal(signal.SIGINT), Interrupt(stage)
    found = ask(progress=press)
    assert press.pressed
    assert found.stopped == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    assert all(0 <= low <= high for low, high in brackets(found))
    assert "interrupted" in found.summary()
    if hasattr(found, "missing"):
        assert found.missing == {"curve": 3, "frontier": 6}[name] - len(brackets(found)) > 0
        assert f"{found.missing} points are missing: it was interrupted" in found.summary()
        assert (found.to_dict()["stopped"], found.to_dict()["missing"]) == ("interrupted", found.missing)
        assert f"{found.missing} points are missing" in repr(found)
        found.save(tmp_path / "part.json")
        assert dl.load(tmp_path / "part.json").missing == found.missing
    if isinstance(found, dl.Audit | dl.Design):
        holds(found, found.mechanism)


WRONG = [
    ({"unit": "hartley"}, "unit = 'hartley' is unknown"),
    ({"tolerance": 0.0}, "tolerance = 0.0 is out of range"),
    ({"tolerance": -1.0}, "tolerance = -1.0 is out of range"),
    ({"tolerance": math.nan}, "tolerance = nan is out of range"),
    ({"time_limit": 0.0}, "time_limit = 0.0 is out of range"),
    ({"time_limit": "long"}, "time_limit = 'long' is not a number"),
    ({"seed": -1}, "seed = -1 is too small"),
    ({"seed": 1.5}, "seed = 1.5 is not a whole number"),
    ({"entropy": None}, "exactly one of knowledge and entropy"),
    ({"knowledge": 1.0}, "exactly one of knowledge and entropy"),
    ({"entropy": -0.1}, "entropy = -0.1"),
    ({"entropy": 9.0}, r"entropy = 9.0 nats is not between 0 and log\|X\|"),
    ({"entropy": math.nan}, "entropy = nan"),
    ({"entropy": "much"}, "entropy = 'much' is not a number"),
    ({"entropy": math.inf}, "entropy = inf"),
    ({"entropy": None, "knowledge": -1e-9}, "knowledge = -1e-09"),
    ({"entropy": None, "knowledge": math.nan}, "knowledge = nan"),
    ({"entropy": 3.01, "unit": "bits"}, "[23] bits"),
]
# Curves and profiles take lists of amounts, and a ledger has no seed.
WITHOUT = {"curve": {"entropy", "knowledge"}, "profile": {"entropy", "knowledge"}, "ledger": {"seed"}}


@pytest.mark.parametrize("name", ["audit", "curve", "design", "frontier", "calibrate", "profile", "ledger"])
def test_options_that_make_no_sense_are_refused(name: str) -> None:
    for options, words in WRONG:
        if not WITHOUT.get(name, set()) & set(options):
            refuses(words, ASK[name], **options)
