import json
import math
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from refusals import refuses
from scipy.optimize import brentq

from dalenius.api.audits import audit
from dalenius.certificates.verifying import verify
from dalenius.errors import InputError
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.gallery.families import FAMILIES, with_noise
from dalenius.model.query import Query
from dalenius.search.deadline import Progress
from dalenius.tools.calibration import calibrate

LN2 = math.log(2)
COUNT = queries.count(n=4)
PARITY = queries.modular_sum(n=4, modulus=2)
PAIR = queries.modular_sum(n=2, modulus=2)


def _flip(leakage: float) -> float:
    """The flip p at which ln 2 - H_b(p), the leakage of parity at b <= (n-1) ln 2, is this much."""
    return float(brentq(lambda p: LN2 + p * math.log(p) + (1 - p) * math.log1p(-p) - leakage, 1e-12, 0.5, xtol=1e-15))


@pytest.mark.parametrize("leakage", [1e-4, 0.05, 0.4, 0.68])
def test_parity_in_closed_form(leakage: float) -> None:
    found = calibrate("symmetric", PARITY, leakage=leakage, entropy=3 * LN2, tolerance=1e-8)
    exact = _flip(leakage)
    assert (found.parameter, found.stopped, found.quietest) == ("flip", "accuracy", False)
    assert found.too_little is not None
    assert found.too_little < exact < found.value
    assert found.value - exact <= 1e-3 * min(exact, 0.5 - exact)
    assert found.leakage.upper <= leakage
    assert found.distortion == pytest.approx(found.value, abs=1e-12)
    assert found.mechanism.name == f"symmetric(flip={found.value!r})"


def _proved(family: str, query: Query, leakage: float, entropy: float) -> None:
    """The value returned meets the budget, the one beside it does not, and they are close."""
    found = calibrate(family, query, leakage=leakage, entropy=entropy)
    assert found.leakage.upper <= leakage
    assert verify(found.leakage, found.mechanism).verified
    assert found.too_little is not None
    noisier = math.log(found.value / found.too_little)
    assert 0 < (noisier if found.parameter == "sigma" else -noisier) < 2.1e-3
    too_little = FAMILIES[family].build(query, **{found.parameter: found.too_little})
    assert audit(too_little, entropy=entropy, tolerance=leakage / 50).lower > leakage


def test_geometric_noise_on_a_count_is_enclosed() -> None:
    _proved("geometric", COUNT, 0.05, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["laplace", "exponential", "gaussian"])
@pytest.mark.parametrize("leakage", [0.01, 0.3])
def test_every_family_on_a_count_is_enclosed(family: str, leakage: float) -> None:
    _proved(family, COUNT, leakage, 2.0)


def test_families_where_audits_are_quick() -> None:
    _proved("geometric", queries.modular_sum(n=6, modulus=3), 0.05, 2.0)
    _proved("gaussian", queries.modular_sum(n=6, modulus=3), 0.05, 2.0)
    _proved("geometric", queries.histogram(n=2, k=2), 0.05, 0.5)
    _proved("randomized_response", queries.identity(k=3), 0.1, 0.5)


@pytest.mark.parametrize("family", ["symmetric", "geometric", "laplace"])
def test_a_smaller_budget_takes_more_noise(family: str) -> None:
    query = queries.modular_sum(n=3, modulus=2)
    found = [calibrate(family, query, leakage=budget, entropy=1.0) for budget in (0.3, 0.1, 0.03, 0.01)]
    errors = [calibration.distortion or 0.0 for calibration in found]
    assert errors == sorted(errors)
    assert len(set(errors)) == len(errors)


@pytest.mark.parametrize(
    ("family", "leakage"),
    [
        pytest.param("geometric", 0.05, marks=pytest.mark.nightly),
        pytest.param("gaussian", 0.2, marks=pytest.mark.nightly),
    ],
)
def test_very_many_records(family: str, leakage: float) -> None:
    query = queries.count(n=4000)
    found = calibrate(family, query, leakage=leakage, knowledge=0.4, accuracy=0.2)
    assert isinstance(found.mechanism, NoisySum)
    assert (found.stopped, found.quietest) == ("accuracy", False)
    assert found.leakage.upper <= leakage
    assert found.leakage.upper == pytest.approx(leakage, rel=0.3)
    assert verify(found.leakage, found.mechanism).verified
    assert found.too_little is not None
    louder = found.value < found.too_little if found.parameter == "epsilon" else found.value > found.too_little
    assert louder
    too_little = FAMILIES[family].build(query, **{found.parameter: found.too_little})
    assert audit(too_little, knowledge=0.4, relative=0.3).lower > leakage
    assert found.distortion == found.mechanism.expected_distortion()
    assert found.to_dict()["dp_epsilon"] == pytest.approx(found.mechanism.dp_epsilon())
    assert found.audits < 40


def test_a_budget_near_the_tolerance_is_met_less_closely() -> None:
    found = calibrate("symmetric", PARITY, leakage=1e-5, entropy=1.0)
    assert found.accuracy == pytest.approx(0.1)
    assert found.leakage.upper <= 1e-5
    assert 0 < found.value - _flip(1e-5) <= 0.1 * (0.5 - _flip(1e-5))


def test_distortion() -> None:
    found = calibrate("exponential", PARITY, leakage=0.1, entropy=2.0)
    assert found.distortion == pytest.approx(1 / (1 + math.exp(found.value / 2)), rel=1e-12)
    cells = calibrate("geometric", queries.histogram(n=1, k=2), leakage=0.1, entropy=0.0)
    alpha = math.exp(-cells.value / 2)
    assert cells.distortion == pytest.approx(2 * alpha / (1 + alpha), rel=1e-12)  # two cells of one bit each
    assert calibrate("randomized_response", queries.identity(k=2), leakage=0.1, entropy=0.0).distortion is None


@pytest.mark.parametrize("family", with_noise())
def test_a_generous_budget_takes_practically_no_noise(family: str) -> None:
    counts = ("noisy_max", "shuffled_response")
    query = queries.histogram(n=1, k=2) if family in counts else queries.count(n=1) if family == "subsampled" else PAIR
    found = calibrate(family, query, leakage=0.7, entropy=0.0)
    assert found.quietest
    assert found.too_little is None
    # Whatever epsilon is, Hadamard response divides a value among half of the four columns.
    largest = 0.5 if family == "hadamard_response" else 1.0
    rows = found.mechanism.rows
    assert rows.max(axis=1) == pytest.approx(largest, abs=1e-6)
    assert rows[rows < largest / 2] == pytest.approx(0.0, abs=1e-6)
    assert "less of it would change practically nothing" in found.summary()
    exact = {"symmetric": 0.0, "subsampled": 1.0}
    assert found.value == exact.get(family, found.value)


def test_a_query_with_one_answer_needs_no_noise() -> None:
    for family in ("symmetric", "geometric"):
        assert calibrate(family, queries.function([2, 2], lambda _: 3), leakage=0.1, entropy=0).quietest


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (0.0, r"is too small for symmetric noise on .*dl\.mechanisms\.constant"),
        (1e-13, r"no symmetric noise on .* could be certified to leak at most 1e-13 nats.*dl\.mechanisms\.constant"),
    ],
)
def test_a_budget_that_no_noise_can_meet(budget: float, says: str) -> None:
    refuses(says, calibrate, "symmetric", PARITY, leakage=budget, entropy=1.0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"family": "geometrc"},
            "there is no family 'geometrc'; did you mean 'geometric'\\?",
        ),
        ({"family": "constant"}, "constant has no number that makes"),
        ({"family": None}, "there is no family None"),
        ({"query": "count(n=4)"}, "calibrate needs a Query, not str"),
        ({"leakage": -0.1}, "leakage = -0.1 is out of range"),
        ({"leakage": math.nan}, "leakage = nan is out of range"),
        ({"leakage": "0.1"}, "leakage = '0.1' is not a number"),
        ({"accuracy": 0.0}, "accuracy = 0.0 is out of range"),
        ({"query": queries.function([2], lambda x: "ab"[x[0]])}, "use symmetric or exponential"),
    ],
)
def test_bad_input(changes: dict[str, Any], says: str) -> None:
    given = {"family": "geometric", "query": COUNT, "leakage": 0.1, "entropy": 0.5, **changes}
    refuses(says, calibrate, given.pop("family"), given.pop("query"), **given)


def test_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no geometric noise was certified .* within 1e-09 s; allow more time"):
        calibrate("geometric", COUNT, leakage=0.05, entropy=2.0, time_limit=1e-9)
    clock, passed = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed[-1])

    def an_hour_later(report: Progress) -> None:
        if report.upper <= 0.05:
            passed.append(3600.0)

    found = calibrate("geometric", PAIR, leakage=0.05, entropy=1.0, time_limit=3600, progress=an_hour_later)
    assert found.stopped == "time_limit"
    assert found.leakage.upper <= 0.05
    assert "less noise may turn out to be enough" in found.summary()


def _interrupt_once(when: Callable[[Progress], bool]) -> Callable[[Progress], None]:
    """A listener that presses Ctrl-C at the first report of this kind; a second Ctrl-C would end everything."""
    pressed: list[Progress] = []

    def listen(report: Progress) -> None:
        if not pressed and when(report):
            pressed.append(report)
            signal.raise_signal(signal.SIGINT)

    return listen


def test_interrupted() -> None:
    kept = _interrupt_once(lambda report: report.upper <= 0.05)
    found = calibrate("geometric", PAIR, leakage=0.05, entropy=1.0, progress=kept)
    assert found.stopped == "interrupted"
    assert found.leakage.upper <= 0.05
    whole = calibrate("geometric", PAIR, leakage=0.05, entropy=1.0)
    assert found.audits < whole.audits
    with pytest.raises(KeyboardInterrupt):
        calibrate("geometric", PAIR, leakage=0.05, entropy=1.0, progress=_interrupt_once(lambda _: True))


def test_words_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    found = calibrate("geometric", PARITY, leakage=0.05, entropy=1.0, progress=True)
    assert f"geometric(epsilon={found.value!r}): [" in capsys.readouterr().err
    data = json.loads(json.dumps(found.to_dict()))
    assert data["leakage"]["upper"] <= data["budget"] == 0.05
    assert (data["query"], data["mechanism"]) == (str(PARITY), found.mechanism.name)
    assert data["dp_epsilon"] == pytest.approx(found.mechanism.dp_epsilon())
    assert repr(found).startswith(f"<Calibration geometric(epsilon={found.value!r}) of {PARITY}: leaks at most 0.0")
    assert f"at epsilon = {found.too_little!r} it was found to leak more than the budget" in found.summary()
    assert f"epsilon = {found.value!r}" in found._repr_html_()
    seen: list[object] = []
    calibrate("geometric", COUNT, leakage=0.5, entropy=2.0, accuracy=0.5, progress=seen.append)
    assert seen


def test_values_are_written_in_no_more_digits_than_are_known() -> None:
    found = calibrate("geometric", PARITY, leakage=0.05, entropy=1.0, accuracy=0.01)
    assert len(repr(found.value)) <= len("0.12345")
    assert mechanisms.geometric(PARITY, epsilon=found.value).rows.tolist() == found.mechanism.rows.tolist()
