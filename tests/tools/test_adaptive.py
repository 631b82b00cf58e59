"""Releases whose second mechanism is chosen after a look at the first output."""

from pathlib import Path

import brute_force
import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model.channels.joint import Adaptive, Joint
from dalenius.model.channels.noise import DiscreteGaussian
from dalenius.model.gallery.parse import parse_mechanism
from dalenius.verifier.verify import verify_here

COUNT = dl.queries.count(n=3)
FIRST = dl.mechanisms.geometric(COUNT, epsilon=0.5)
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.3)
SECOND = dl.mechanisms.geometric(COUNT, epsilon=1.0)


@pytest.mark.parametrize("second", [SECOND, PARITY], ids=["same statistic", "another statistic"])
def test_a_constant_choice_is_composition(second: dl.Mechanism) -> None:
    chosen, composed = dl.adaptive(FIRST, lambda _: second), dl.compose(FIRST, second)
    assert chosen.labels == composed.labels
    assert np.array_equal(chosen.matrix(), composed.matrix())
    assert chosen.describe() == composed.describe()


def test_rows_are_products_and_alphabets_may_differ() -> None:
    def choose(y: int) -> dl.Mechanism:
        return SECOND if y == 0 else PARITY

    mechanism = dl.adaptive(FIRST, choose)
    assert mechanism.labels == (*((0, z) for z in range(4)), *((y, z) for y in (1, 2, 3) for z in (0, 1)))
    parts = [FIRST.matrix()[:, [y]] * choose(y).matrix() for y in range(4)]
    assert np.allclose(mechanism.matrix(), np.concatenate(parts, axis=1), rtol=1e-14, atol=0)
    audit = dl.audit(mechanism, knowledge=0.5, tolerance=1e-3)
    assert dl.verify(audit).verified
    assert dl.audit(FIRST, knowledge=0.5, tolerance=1e-4).lower <= audit.upper
    reached = brute_force.attained(mechanism.matrix(), (2, 2, 2), 3 * np.log(2) - 0.5, starts=2)
    assert audit.lower - 1e-3 <= reached <= audit.upper + 1e-9
    assert mechanism.sample([0, 1, 1], size=3, rng=1).shape == (3,)
    book = dl.Ledger(COUNT, knowledge=0.5, tolerance=1e-2)
    assert book.release(mechanism).releases == 1


def test_bad_input() -> None:
    other = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    with pytest.raises(dl.InputError, match=r"choose\(0\) is a str; it must return a Mechanism over the same records"):
        dl.adaptive(FIRST, lambda _: "parity")  # type: ignore[arg-type, return-value]
    with pytest.raises(dl.InputError, match=r"choose\(2\) is over 2 records of 2 values, the first mechanism over 3"):
        dl.adaptive(FIRST, lambda y: other if y == 2 else FIRST)
    refuses("must be a function", dl.adaptive, FIRST, SECOND)
    refuses("mechanism 0 is a str", dl.adaptive, "count", lambda _: FIRST)
    large, weak = (parse_mechanism(f, dl.queries.count(n=200)) for f in ("gaussian(sigma=1)", "geometric(epsilon=1)"))
    refuses(
        r"201 rows x 40401 outputs, above the limit of 4194304 entries.*or take noise of one kind on one sum",
        dl.adaptive,
        large,
        lambda y: large if y else weak,
    )
    huge = dl.mechanisms.geometric(dl.queries.count(n=2**18), epsilon=1)
    refuses("choose would be called for 262145 outputs", dl.adaptive, huge, lambda _: huge)
    real = dl.mechanisms.gaussian(COUNT, sigma=1, output="real")
    with pytest.raises(dl.InputError):
        dl.adaptive(FIRST, lambda _: real)


def chosen(first: dl.Mechanism, low: dl.Mechanism, high: dl.Mechanism) -> Adaptive:
    """A count of three people, then one choice after the first two outputs and another after the others."""
    found = Adaptive.choosing(first, [(2, low), (2, high)])
    assert found is not None
    return found


def holds_the_truth(release: Adaptive, *, gap: float) -> None:
    """The bracket by structure and that of the rows overlap, and the former is verified."""
    found = dl.audit(release, knowledge=0.5, time_limit=60, verify=False)
    first, (_, low), (_, high) = release.parts[0], *release.choices
    exact = dl.audit(dl.adaptive(first, lambda y: low if y < 2 else high), knowledge=0.5, tolerance=1e-4)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    # Groups of so few outputs are the outputs.
    assert found.lower >= 0.995 * exact.lower
    assert found.gap < gap * found.upper
    assert verify_here(found.certificate.data).verified


@pytest.mark.parametrize("noise", ["geometric", "laplace"])
def test_the_highest_rate_holds_what_the_rule_leaks(noise: str) -> None:
    release = chosen(FIRST, *(getattr(dl.mechanisms, noise)(COUNT, epsilon=c) for c in (0.4, 0.7)))
    holds_the_truth(release, gap=0.25)
    assert release.dp_epsilon() == pytest.approx(1.2)
    assert release.describe()["then"] == [[2, f"{noise}(epsilon=0.4)"], [2, f"{noise}(epsilon=0.7)"]]
    assert release.name == f"adaptive(geometric(epsilon=0.5), then {noise}(epsilon=0.4) or {noise}(epsilon=0.7))"


NORMAL = {
    "rounded": ("gaussian(sigma=2)", "gaussian(sigma=1.5)"),
    "discrete": ("discrete_gaussian(sigma=1.5)", "discrete_gaussian(sigma=2, clamp=True)"),
    "both": ("gaussian(sigma=1.5)", "discrete_gaussian(sigma=2)"),
}


@pytest.mark.parametrize("names", NORMAL.values(), ids=NORMAL)
def test_the_least_sigma_holds_what_the_rule_leaks(names: tuple[str, str]) -> None:
    first, *others = (parse_mechanism(name, COUNT) for name in ("gaussian(sigma=1.8)", *names))
    release = chosen(first, *others)
    holds_the_truth(release, gap=0.3)
    least = release.parts[1].as_sum
    assert least is not None
    assert least.noise.sigma == 1.5
    assert isinstance(least.noise, DiscreteGaussian) == ("discrete" in "".join(names))


def test_real_choices_tell_no_less_than_rounded_ones() -> None:
    first = dl.mechanisms.gaussian(COUNT, sigma=1.8)
    both = [
        chosen(first, *(dl.mechanisms.gaussian(COUNT, sigma=s, output=output) for s in (2, 1.5)))
        for output in ("real", "integer")
    ]
    real, rounded = (dl.audit(release, knowledge=0.5, time_limit=60, verify=False) for release in both)
    assert rounded.lower <= real.upper
    assert verify_here(real.certificate.data).verified
    assert real.upper == pytest.approx(rounded.upper, rel=1e-6)
    assert both[0].sample([0, 1, 1], size=3, rng=1).shape == (3, 2)


def test_a_release_too_large_for_a_table_goes_by_its_structure(tmp_path: Path) -> None:
    people = dl.queries.count(n=300)
    weak, strong = (dl.mechanisms.geometric(people, epsilon=e) for e in (0.2, 0.25))
    release = dl.adaptive(weak, lambda y: strong if y < 150 else weak)
    assert isinstance(release, Adaptive)
    assert [many for many, _ in release.choices] == [150, 151]
    audit = dl.audit(release, knowledge=0.3, relative=0.2, time_limit=300, verify=False)
    assert verify_here(audit.certificate.data).verified
    assert audit.lower > 0.85 * audit.upper
    audit.save(tmp_path / "audit.json")
    assert dl.load(tmp_path / "audit.json", verify=True).verified
    release.save(tmp_path / "release.json")
    again = dl.Mechanism.load(tmp_path / "release.json")
    assert again.describe() == release.describe()
    # After a first output below 150 the second has less noise.
    drawn = release.sample([0] * 150 + [1] * 150, size=4000, rng=3)
    after = [drawn[drawn[:, 0] < 150, 1], drawn[drawn[:, 0] >= 150, 1]]
    assert after[0].std() == pytest.approx(5.64, rel=0.1)
    assert after[1].std() == pytest.approx(7.05, rel=0.1)
    assert release.sample([0] * 150 + [1] * 150, size=2, secure=True).shape == (2, 2)
    book = dl.Ledger(people, knowledge=0.3, tolerance=0.1)
    assert book.release(release).bound == "audit"


def test_choices_of_one_name_about_two_queries_are_two_choices() -> None:
    """Noise of one scale on the count tells much less than the same on seven times the count."""
    people, seven = dl.queries.count(n=400), dl.queries.total(n=400, values=[0, 7])
    first, same, more = (dl.mechanisms.geometric(query, scale=20) for query in (people, people, seven))
    assert isinstance(dl.adaptive(first, lambda _: same), Joint)
    refuses("above the limit", dl.adaptive, first, lambda y: same if y < 5 else more)


def test_other_choices_have_no_structure() -> None:
    normal = dl.mechanisms.gaussian(COUNT, sigma=1)
    wide = dl.mechanisms.geometric(COUNT, epsilon=0.5, clamp=False)
    assert Adaptive.choosing(FIRST, [(2, SECOND), (2, normal)]) is None
    assert Adaptive.choosing(normal, [(2, SECOND), (2, normal)]) is None
    narrow = dl.mechanisms.discrete_gaussian(COUNT, sigma=0.5)
    assert Adaptive.choosing(normal, [(2, narrow), (2, normal)]) is None
    assert Adaptive.choosing(FIRST, [(2, SECOND), (2, PARITY)]) is None
    assert Adaptive.choosing(FIRST, [(3, SECOND)]) is None
    assert Adaptive.choosing(wide, [(4, SECOND)]) is None
