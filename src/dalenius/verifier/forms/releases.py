"""Several releases of one sum, each with noise of its own: a joint release that is never written out.

Given the answer t, outputs are independent, and all of them are seen. Releases with the same noise are not told apart.
The witness is as that of a sum, with cuts of its own for every release: what is computed is I(A; G_1, G_2, ...), G_j
the group of the output of release j between two cuts. Clamping moves nothing across a cut inside the range of the
answers; real outputs are rounded, which tells no more. A proof goes by one of three steps: `cone` and `mean` lead to
one release of the same sum, `points` to all releases at points of the answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from operator import add
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, exact, float_below
from dalenius.verifier.kernel.cells import Knowledge, Shares
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.proofs import compare
from dalenius.verifier.kernel.reading import ascending, field, fits, mapping, number, refuse, sequence, show, whole
from dalenius.verifier.kernel.witness import mutual
from dalenius.verifier.steps import cone, mean, points

from . import named, sums, together
from .counting import Sum, people
from .reference import Reference
from .secret import Secret

Proof = dict[str, Any]
STEPS = ("cone", "mean", "points")
# Releases at most; each is rebuilt by its name.
MOST = 64
# Kinds in which the noise has no part, for which no step is needed.
WITHOUT_NOISE = ("trivial", "sibson")
# Classes at a time.
PART = 512


@dataclass(frozen=True)
class Releases:
    """The sum, with the noise of the first release, and the noise of all of them."""

    one: sums.Large
    parts: tuple[named.Added, ...]
    # Those that a witness is about, with the least and the greatest cut that each may have.
    seen: tuple[tuple[named.Added, tuple[int, int]], ...]
    text: str
    # How many outputs in a row of the first release choose which law of the second.
    then: tuple[tuple[int, str], ...] = ()

    @property
    def statistic(self) -> Sum:
        """The sum."""
        return self.one.statistic

    def difference(self, other: "Releases") -> str | None:
        """Return what tells two joint releases apart: the answers, or the laws of the noise."""
        mine, theirs = (sorted(_law(*one) for one in channel.seen) for channel in (self, other))
        same = mine == theirs and self.then == other.then and named.same_answers(self.one.query, other.one.query)
        return None if same else f"it is {other.text}"


def _law(part: named.Added, cuts: tuple[int, int]) -> str:
    """What a release is: the family of its noise, the parameter, and where it may be cut."""
    return f"{part.exact[0]} {part.exact[1]} {cuts}"


def rebuild(problem: dict[str, Any]) -> Releases:
    """Return the joint release of a description by names."""
    if set(problem) - {"then"} != {"query", "releases"}:
        refuse("several releases of one sum are described by 'query' and 'releases'")
    asked = named.query(problem["query"], listed=False)
    statistic = asked.statistic
    if not isinstance(statistic, Sum) or statistic.modulus is not None:
        refuse(f"the form 'releases' is for noise on sums of records, not for {asked.text}")
    listed = sequence(problem["releases"], "the releases")
    few, most = (1, 1) if "then" in problem else (2, MOST)
    if not few <= len(listed) <= most:  # one is no joint release
        refuse(f"there are {len(listed)} releases; the form is for {few} to {most}{' before a choice' * (most == 1)}")
    parts = tuple(named.added(text, asked, rounded=True) for text in listed)
    text = f"{people(statistic)}; {asked.text}; {' and '.join(part.text for part in parts)}"
    seen = tuple((part, _cuts(part, asked)) for part in parts)
    if most > 1:
        return Releases(sums.Large(statistic, asked, parts[0], text), parts, seen, text)
    choices = _choices(problem["then"], parts[0], asked)
    least, greatest = (pick((part for _, part in choices), key=_size) for pick in (min, max))
    rate = exact(_size(greatest))
    strongest = replace(named.geometric(rate, f"geometric noise of the rate {float(rate):.10g}"), size=greatest.size)
    if all(part.family == "geometric" for _, part in choices):
        seen += ((least, _cuts(least, asked)),)
    laws = tuple((many, _law(part, _cuts(part, asked))) for many, part in choices)
    text += f", then {' or '.join(dict.fromkeys(part.text for _, part in choices))} by its output"
    return Releases(sums.Large(statistic, asked, parts[0], text), (*parts, strongest), seen, text, laws)


def _cuts(part: named.Added, asked: named.Query) -> tuple[int, int]:
    """The least and the greatest cut of a release: what is not clamped may be cut anywhere near the answers."""
    last, far = asked.low + asked.width - 1, largest().reach
    inside = part.clamped and part.output == "integer"
    return (asked.low + 1, last) if inside else (asked.low - far, last + far)


def _choices(value: object, first: named.Added, asked: named.Query) -> list[tuple[int, named.Added]]:
    """The laws that are chosen from, by how many outputs in a row of the first release."""
    if not first.clamped or first.output != "integer":
        refuse(f"{first.text} has no list of outputs by which a second release could be chosen")
    choices = []
    for item in sequence(value, "'then'"):
        many, text = sequence(item, "a choice", 2)
        part = named.added(text, asked, rounded=True)
        if not part.steady:
            refuse(f"{part.text}, which is chosen by the first output, has neither geometric nor Laplace noise")
        choices.append((whole(many, "a number of outputs", 1, asked.width), part))
    if sum(many for many, _ in choices) != asked.width:
        refuse(f"there are choices after {sum(many for many, _ in choices)} outputs of {asked.width}")
    return choices


def _size(part: named.Added) -> Fraction:
    """The rate of geometric or Laplace noise."""
    assert part.size is not None  # for the type checker: it was seen to be steady
    return part.size


def ask(channel: Releases, secret: Secret, reference: Reference) -> Releases:
    """Return the releases with the question about them."""
    return replace(channel, one=sums.ask(channel.one, secret, reference))


def check_witness(value: object, channel: Releases, knowledge: Knowledge, lower: float) -> None:
    """Check the lower bound.

    Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret.
    """
    witness, one = mapping(value, "the witness"), channel.one
    listed = sequence(field(witness, "cuts", "the witness"), "cuts of the witness", len(channel.seen))
    # Releases with the same noise and the same cuts are not told apart.
    alike: dict[object, tuple[named.Added, list[int], int]] = {}
    for j, ((part, limits), given) in enumerate(zip(channel.seen, listed, strict=True)):
        cuts = ascending(given, f"cuts of release {j}", *limits)
        key = part.exact, tuple(cuts)
        alike[key] = part, cuts, alike[key][2] + 1 if key in alike else 1
    groups = list(alike.values())
    outputs = together.count([(len(cuts) + 1, often) for _, cuts, often in groups], largest().numbers)
    fits(len(one.values) * outputs, "what the witness sees of all releases")
    sums.on_blocks(witness, one, knowledge, lower, partial(_information, groups))


def _information(
    groups: Sequence[tuple[named.Added, list[int], int]], one: sums.Large, density: list[Shares], starts: list[int]
) -> Ball:
    """I(A; G_1, G_2, ...) of the prior density(a, block) rho(a, t); groups: noise, cuts, and how often it is run."""
    pairs = zip(one.values, density, strict=True)
    weights = [sums.weights(one, c, share, ratios, starts) for (c, share), ratios in pairs]
    chances = [(cache(added.below), cuts, often) for added, cuts, often in groups]
    sizes = [(len(cuts) + 1, often) for _, cuts, often in groups]
    orders = [arb(together.orders(y)) for y in together.listed(sizes)]
    joint = [[ZERO] * len(orders) for _ in one.values]
    for i in range(0, len(one.seen_answers), PART):
        tick()
        answers = one.seen_answers[i : i + PART]
        both = together.Together([([_row(below, cuts, f) for f in answers], often) for below, cuts, often in chances])
        for total, weight in zip(joint, weights, strict=True):
            total[:] = map(add, total, both.combined(weight[i : i + PART]))
    secret = []
    for a, (total, ratios) in enumerate(zip(joint, density, strict=True)):
        # What classes have that are not seen, somewhere between nothing and all of it in every group.
        rest = sums.unseen(one, a, ratios, starts)
        secret.append(sum(weights[a], ZERO) + rest)
        total[:] = [(x * k + rest).nonnegative_part() for x, k in zip(total, orders, strict=True)]
    return mutual(joint, secret)


def _row(below: Callable[[int], Ball], cuts: list[int], f: int) -> list[Ball]:
    """The chances of the groups between cuts for the answer f: P(Y < c | f) = P(noise <= c - 1 - f)."""
    return [(y - x).nonnegative_part() for x, y in pairwise([ZERO, *(below(c - 1 - f) for c in cuts), ONE])]


def check_proof(channel: Releases, knowledge: Knowledge, proof: Proof, where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold, as all records are interchangeable.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    steps = [mapping(step, f"a step of {where}") for step in sequence(proof.get("steps", ()), f"the steps of {where}")]
    if not steps:
        if proof.get("kind") not in WITHOUT_NOISE:
            refuse(f"{where}: a joint release takes one of the steps {', '.join(STEPS)} before its kind")
        return sums.check_proof(channel.one, knowledge, proof, where)
    name = steps[0].get("step")
    if name == "points":
        if proof.get("kind") != "monotone":
            refuse(f"{where}: points come before monotone rows only")
        given = replace(sums.noisy(channel.one.near_mean, knowledge, where), rates=_rates(channel, steps[0], where))
        compare(points.bound(replace(given, added=None), knowledge.most, proof, where), upper, where)
        return upper
    if name not in STEPS:
        refuse(f"{where}: its step is {show(name)}, which is none of {', '.join(STEPS)}")
    single, kept = _single(channel, steps[0], where)
    lost = (1 - kept) * arb(len(single.values)).log()
    inside = float_below((arb(upper) - lost) / kept)
    rest = {key: x for key, x in proof.items() if key != "steps"} | ({"steps": steps[1:]} if steps[1:] else {})
    sums.check_proof(single, knowledge, rest | {"upper": inside}, where)
    return upper


def _rates(channel: Releases, stated: dict[str, Any], where: str) -> list[tuple[Ball, int]]:
    """The rate of each group of releases that have the same, and how many they are; every release is in one group."""
    cone.rates(channel.parts, where)
    many = len(channel.parts)
    listed = sequence(field(stated, "releases", where), f"'releases' of {where}")
    groups = [[whole(j, "a release", 0, many - 1) for j in sequence(group, "a group of releases")] for group in listed]
    if sorted(j for group in groups for j in group) != list(range(many)) or not all(groups):
        refuse(f"{where}: its groups do not have every release once")
    for group in groups:
        if any(channel.parts[j].exact[1] != channel.parts[group[0]].exact[1] for j in group):
            refuse(f"{where}: the releases {', '.join(map(str, group))} of one group have different rates")
    return [(channel.parts[group[0]].parameter, len(group)) for group in groups]


def _single(channel: Releases, stated: dict[str, Any], where: str) -> tuple[sums.Large, Ball]:
    """One release of the sum, and the chance with which all releases are a function of it."""
    one = channel.one
    if stated["step"] == "cone":
        rate = cone.rate(channel.parts, stated, where)
        return replace(one, noise=named.geometric(rate, "geometric noise of the rate of the cone")), ONE
    statistic = one.statistic
    if one.query.name == "pairs":
        refuse(f"{where}: the answers are not the sums, and the mean is for these")
    g, sigma, kept = mean.lattice(channel.parts, stated, where)
    values = [g * c for c in statistic.contributions]
    fine = sums.rebuild(
        {"query": f"total(n={statistic.n}, values={values})", "mechanism": f"discrete_gaussian(sigma={sigma!r})"}
    )
    return replace(fine, records=one.records, reference=one.reference), kept
