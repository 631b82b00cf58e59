"""Releases of statistics offices: what each leaks about a record, certified and verified."""

import copy
from functools import cache
from pathlib import Path

import brute_force
import numpy as np
import pytest

import dalenius as dl
from dalenius.model.gallery.parse import parse_mechanism
from dalenius.model.reference import UNIFORM
from dalenius.verifier.verify import verify_here

INDEPENDENT = {"adversary": "independent"}
RARE = {"knowledge": 0.1, "reference": [0.97, 0.03]}
# D = 2 and V = 1 as ptable's vignette has them: mean 0, variance at most 1, falling away from the answer, and among
# these laws the greatest entropy.
PTABLE = [
    (0, 0, 1.0),
    *zip(
        (1,) * 4,
        (-1, 0, 1, 2),
        (0.3664855059764379, 0.3664855059764379, 0.1675724701178103, 0.0994565179293137),
        strict=True,
    ),
    *zip(
        (2,) * 5,
        (-2, -1, 0, 1, 2),
        (0.0638271367064, 0.2446914531742, 0.3829628202388, 0.2446914531742, 0.0638271367064),
        strict=True,
    ),
]
slow = pytest.mark.nightly

# Mechanism, people, adversary, and the digits that are known, or what they are known to lie between.
LINES = [
    ("exact()", 40, INDEPENDENT, 0.6931),
    ("exact()", 40, 0.1, 0.1760),
    ("exact()", 40, 0.5, 0.6181),
    ("random_rounding(base=3)", 100, INDEPENDENT, 0.1382),
    ("random_rounding(base=3)", 100, 0.1, 0.1379),
    pytest.param("random_rounding(base=3)", 100, 0.5, (0.5166, 0.5205), marks=slow),
    ("random_rounding(base=5)", 8, INDEPENDENT, 0.0787),
    ("random_rounding(base=5)", 8, 0.5, 0.2495),
    ("ptable", 40, INDEPENDENT, 0.3034),
    ("ptable", 40, 0.1, 0.1584),
    pytest.param("ptable", 40, 0.5, (0.5133, 0.5275), marks=slow),
    ("keys", 20, INDEPENDENT, 0.6931),
    ("keys", 20, 0.1, 0.2012),
    ("keys", 20, 0.5, 0.6564),
    ("rounding(base=5, mechanism='suppressed(below=8)')", 40, INDEPENDENT, 0.6931),
    ("rounding(base=5, mechanism='suppressed(below=8)')", 40, 0.1, 0.1684),
    ("rounding(base=5, mechanism='suppressed(below=8)')", 40, 0.5, 0.5335),
    ("rounding(base=6, midpoint=True)", 40, INDEPENDENT, 0.6931),
    ("rounding(base=6, midpoint=True)", 40, 0.1, 0.1657),
    ("rounding(base=6, midpoint=True)", 40, 0.5, 0.5845),
    ("suppressed(below=3)", 8, INDEPENDENT, 0.6931),
    ("suppressed(below=3)", 8, 0.5, 0.6931),
    ("subsampled(rate=0.1)", 20, INDEPENDENT, 0.0380),
    ("subsampled(rate=0.1)", 20, 0.1, 0.0114),
    pytest.param("subsampled(rate=0.1)", 20, 0.5, (0.0374, 0.0391), marks=slow),
    ("subsampled(rate=0.1, mechanism='geometric(epsilon=1)')", 20, INDEPENDENT, 0.0013),
    ("subsampled(rate=0.1, mechanism='geometric(epsilon=1)')", 20, 0.1, 0.0046),
    ("subsampled(rate=0.1, mechanism='geometric(epsilon=1)')", 20, 0.5, 0.0150),
    ("shuffled_response(epsilon=1)", 40, INDEPENDENT, 0.0034),
    ("shuffled_response(epsilon=1)", 40, 0.1, 0.0374),
    ("shuffled_response(epsilon=1)", 40, 0.5, 0.1261),
    # A condition that 3 % have: redact up to 5, or up to 7?
    ("exact()", 40, RARE, 0.1573),
    ("rounding(base=5)", 40, RARE, 0.1534),
    ("rounding(base=5, mechanism='suppressed(below=6)')", 40, RARE, (0.0940, 0.0949)),
    ("rounding(base=6, midpoint=True)", 40, RARE, (0.0722, 0.0729)),
    ("rounding(base=5, mechanism='suppressed(below=8)')", 40, RARE, (0.0590, 0.0595)),
]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 256 keys and 750 counts, below 10 to 0 and then to the nearest 5, whatever the key."""
    lines = [f"{y},{key},{-y if y < 10 else (0, -1, -2, 2, 1)[y % 5]}" for y in range(1, 751) for key in range(256)]
    path = tmp_path_factory.mktemp("keys") / "keys.csv"
    path.write_text("\n".join(["pcv,ckey,pvalue", *lines]))
    return path


@cache
def released(name: str, people: int, keys: Path) -> dl.Mechanism:
    query = dl.queries.count(n=people)
    if name in ("ptable", "keys"):
        return dl.mechanisms.cell_key(query, PTABLE if name == "ptable" else keys)
    return parse_mechanism(name, query)


@pytest.mark.parametrize(("name", "people", "against", "known"), LINES)
def test_leakage(name: str, people: int, against: object, known: float | tuple[float, float], keys: Path) -> None:
    mechanism = released(name, people, keys)
    options = against if isinstance(against, dict) else {"knowledge": against}
    audit = dl.audit(mechanism, relative=1e-3, time_limit=60, verify=False, **options)
    low, high = known if isinstance(known, tuple) else (known, known)
    assert audit.lower <= high + 5e-5
    assert audit.upper >= low - 5e-5
    assert audit.gap <= 1.01e-3 * audit.upper or isinstance(known, tuple)
    assert audit.certificate.data["problem"]["mechanism"] == mechanism.name  # it is about the formula, not about rows
    assert dl.verify(audit.certificate).verified


@pytest.mark.parametrize(("name", "few", "many"), [("exact()", 2, 2100), ("random_rounding(base=3)", 4, 2600)])
def test_independent_people_tell_the_same_however_many_they_are(name: str, few: int, many: int) -> None:
    small, large = (parse_mechanism(name, dl.queries.count(n=n)) for n in (few, many))
    best = max(brute_force.capacity(small.rows[t : t + 2])[1] for t in range(few))
    audit = dl.audit(large, adversary="independent", verify=True)
    assert audit.verified
    assert audit.lower <= best + 1e-9
    assert best - 1e-9 <= audit.upper <= best + 1e-6


@pytest.mark.parametrize("line", [0, 7, 19])
@pytest.mark.parametrize("name", ["rounding(base=5)", "random_rounding(base=3)", "suppressed(below=4)"])
def test_every_number_that_the_others_may_add_up_to_is_checked(name: str, line: int) -> None:
    audit = dl.audit(parse_mechanism(name, dl.queries.count(n=20)), adversary="independent", verify=False)
    data = copy.deepcopy(audit.certificate.data)
    told = audit.mechanism.rows[line : line + 2]
    for law in ([1.0, 0.0], [0.0, 1.0]):  # a proof that there is nothing to learn of this person
        data["proofs"][0]["weights"][line] = law
        checked = verify_here(data)
        assert checked.verified == (told[0] == told[1]).all(), checked.reason


@pytest.mark.parametrize(
    ("mechanism", "capacity"),
    [
        ("randomized_response(epsilon=1)", 0.0851),
        ("hadamard_response(epsilon=1)", 0.0987),
        ("unary_encoding(epsilon=1, optimised=True)", 0.1033),
        ("unary_encoding(epsilon=1)", 0.1064),
        ("subset_selection(epsilon=1)", 0.1180),
    ],
)
def test_one_record_of_eight_values(mechanism: str, capacity: float) -> None:
    built = parse_mechanism(mechanism, dl.queries.identity(k=8))
    audit = dl.audit(built, adversary="independent", verify=False)
    assert (audit.lower, audit.upper) == pytest.approx((capacity, capacity), abs=5e-5)
    assert dl.verify(audit.certificate).verified


def test_the_best_table_leaks_less_than_half_of_what_ptables_does() -> None:
    """The numbers of docs/howto/design.md: D = 2, the same mean squared error, unbiased, zeros kept."""
    query = dl.queries.count(n=6)
    table = dl.mechanisms.cell_key(query, PTABLE)
    rows, shares = table.written().rows, np.exp(UNIFORM.log_classes(query.statistic))
    error = float(shares @ (rows * np.subtract.outer(np.arange(7), np.arange(9)) ** 2).sum(axis=1))
    assert error == pytest.approx(0.978, abs=5e-4)
    leaks = dl.audit(table, adversary="independent")
    best = dl.design(
        query, distortion=error, measure="squared", outputs=range(9), unbiased=True, within=2, keep_zero=True,
        adversary="independent",
    )  # fmt: skip
    assert leaks.lower == pytest.approx(0.3034, abs=5e-5)
    assert best.verified
    assert best.upper == pytest.approx(0.1392, abs=5e-5)
