"""Several releases of one sum, each with noise of its own: a joint release that is never written out.

Given the answer t, outputs are independent, and all of them are seen. Releases with the same noise are not told apart.
The witness is as that of a sum, with cuts of its own for every release: what is computed is I(A; G_1, G_2, ...), G_j
the group of the output of release j between two cuts. Clamping moves nothing across a cut inside the range of the
answers; real outputs are rounded, which tells no more. A proof goes by one of three steps: `cone` and `mean` lead to
one release of the same sum, `points` to all releases at points of the answers.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from operator import add
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, float_below
from dalenius.verifier.kernel.cells import Knowledge, Shares, mutual
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.order import count
from dalenius.verifier.kernel.proofs import compare
from dalenius.verifier.kernel.reading import ascending, field, fits, mapping, number, refuse, sequence, show, whole
from dalenius.verifier.steps import points, several

from . import named, sums, together
from .counting import Sum, people
from .reference import Reference, digest
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
    # Of every release the noise, or the laws of noise that may be chosen by the output of the first.
    parts: tuple[tuple[named.Added, ...], ...]
    # Those that a witness has cuts for, with the least and the greatest cut that each may have.
    seen: tuple[tuple[named.Added, tuple[int, int]], ...]
    text: str
    # How many outputs in a row of the first release choose which law of the second, by its place in `seen`.
    then: tuple[tuple[int, int], ...] = ()

    @property
    def statistic(self) -> Sum:
        return self.one.statistic


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
    one = sums.Large(statistic, asked, parts[0], text)
    if most > 1:
        return Releases(one, tuple((part,) for part in parts), seen, text)
    choices, then = _choices(problem["then"], parts[0], asked)
    rule = digest(problem["then"])
    text += f", then {' or '.join(part.text for part in choices)} by its output (sha256 {rule})"
    seen += tuple((part, _cuts(part, asked)) for part in choices)
    return Releases(replace(one, text=text), (parts, choices), seen, text, then)


def _cuts(part: named.Added, asked: named.Query) -> tuple[int, int]:
    """The least and the greatest cut of a release: what is not clamped may be cut anywhere near the answers."""
    last, far = asked.low + asked.width - 1, largest().reach
    inside = part.clamped and part.output == "integer"
    return (asked.low + 1, last) if inside else (asked.low - far, last + far)


def _choices(
    value: object, first: named.Added, asked: named.Query
) -> tuple[tuple[named.Added, ...], tuple[tuple[int, int], ...]]:
    """The laws that are chosen from, and after how many outputs in a row of the first release which of them is."""
    if not first.clamped or first.output != "integer":
        refuse(f"{first.text} has no list of outputs by which a second release could be chosen")
    choices: list[named.Added] = []
    places: dict[str, int] = {}
    then = []
    for item in ticking(sequence(value, "'then'")):
        many, text = sequence(item, "a choice", 2)
        if not isinstance(text, str) or text not in places:
            choices.append(named.added(text, asked, rounded=True))
            places[text] = len(choices)
        then.append((whole(many, "a number of outputs", 1, asked.width), places[text]))
    if sum(many for many, _ in then) != asked.width:
        refuse(f"there are choices after {sum(many for many, _ in then)} outputs of {asked.width}")
    return tuple(choices), tuple(then)


def ask(channel: Releases, secret: Secret, reference: Reference) -> Releases:
    """Return the releases with the question about them."""
    return replace(channel, one=sums.ask(channel.one, secret, reference))


def check_witness(witness: dict[str, Any], channel: Releases, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    one = channel.one
    listed = sequence(field(witness, "cuts", "the witness"), "cuts of the witness", len(channel.seen))
    given = [
        Seen(part, ascending(cuts, f"cuts of release {j}", *limits))
        for j, ((part, limits), cuts) in enumerate(zip(channel.seen, listed, strict=True))
    ]
    ways = _chosen(channel, given) if channel.then else [_alike(given)]
    outputs = sum(count([(len(one.groups), often) for one, often in way], largest().numbers) for way in ways)
    fits(len(one.values) * outputs, "what the witness sees of all releases")
    sums.on_blocks(witness, one, knowledge, lower, partial(_information, ways))


class Seen:
    """What is seen of a release: the group of its output, each group some intervals between edges."""

    def __init__(self, part: named.Added, edges: list[int], groups: Sequence[Sequence[int]] | None = None) -> None:
        """Take the noise and the edges; groups: the intervals of each, from the left, or every interval by itself."""
        self.part, self.edges, self.below = part, edges, cache(part.below)
        self.groups = groups or [[k] for k in range(len(edges) + 1)]

    def row(self, f: int) -> list[Ball]:
        """The chances of the groups for the answer f: P(Y < c | f) = P(noise <= c - 1 - f)."""
        ends = [ZERO, *(self.below(c - 1 - f) for c in self.edges), ONE]
        return [sum(((ends[k + 1] - ends[k]).nonnegative_part() for k in group), ZERO) for group in self.groups]


# Releases that are independent given the answer, and how often each is run. Of several ways one is gone.
Way = list[tuple[Seen, int]]


def _alike(given: Sequence[Seen]) -> Way:
    """Releases with the same noise and the same cuts are not told apart."""
    alike: dict[object, tuple[Seen, int]] = {}
    for one in given:
        key = one.part.family, one.part.size, tuple(one.edges)
        alike[key] = one, alike[key][1] + 1 if key in alike else 1
    return list(alike.values())


def _chosen(channel: Releases, given: Sequence[Seen]) -> list[Way]:
    """For every choice the groups of first outputs after which it is made, and its own."""
    first, begins = given[0], [*accumulate((many for many, _ in channel.then), initial=channel.one.query.low)][:-1]
    edges = sorted({*first.edges, *begins[1:]})
    groups: dict[int, dict[int, list[int]]] = {}
    for k, start in enumerate([begins[0], *edges]):
        choice = channel.then[bisect_right(begins, start) - 1][1]
        groups.setdefault(choice, {}).setdefault(bisect_right(first.edges, start), []).append(k)
    return [[(Seen(first.part, edges, [*of.values()]), 1), (given[j], 1)] for j, of in groups.items()]


def _information(ways: Sequence[Way], one: sums.Large, density: list[Shares], starts: list[int]) -> Ball:
    """I(A; G_1, G_2, ...) of the prior density(a, block) rho(a, t)."""
    pairs = zip(one.values, density, strict=True)
    weights = [sums.weights(one, c, share, ratios, starts) for (c, share), ratios in pairs]
    sizes = [[(len(seen.groups), often) for seen, often in way] for way in ways]
    orders = [arb(together.orders(y)) for each in sizes for y in together.listed(each)]
    joint = [[ZERO] * len(orders) for _ in one.values]
    for i in range(0, len(one.seen_answers), PART):
        answers = one.seen_answers[i : i + PART]
        found: list[list[Ball]] = [[] for _ in one.values]
        for way in ways:
            tick()
            both = together.Together([([seen.row(f) for f in answers], often) for seen, often in way])
            for outputs, weight in zip(found, weights, strict=True):
                outputs.extend(both.combined(weight[i : i + PART]))
        for total, outputs in zip(joint, found, strict=True):
            total[:] = map(add, total, outputs)
    secret = []
    for a, (total, ratios) in enumerate(zip(joint, density, strict=True)):
        # What classes have that are not seen, somewhere between nothing and all of it in every group.
        rest = sums.unseen(one, a, ratios, starts)
        secret.append(sum(weights[a], ZERO) + rest)
        total[:] = [(x * k + rest).nonnegative_part() for x, k in zip(total, orders, strict=True)]
    return mutual(joint, secret)


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
        rates = _rates(channel, steps[0], where)

        def check(one: sums.Large) -> float:
            given = replace(sums.noisy(one, knowledge, where), rates=rates, added=None)
            compare(points.bound(given, knowledge.most, proof, where), upper, where)
            return upper

        return sums.near_first(channel.one, check)
    if name not in STEPS:
        refuse(f"{where}: its step is {show(name)}, which is none of {', '.join(STEPS)}")
    single, kept = _single(channel, steps[0], where)
    lost = (1 - kept) * single.log_values
    inside = float_below((arb(upper) - lost) / kept)
    rest = {key: x for key, x in proof.items() if key != "steps"} | ({"steps": steps[1:]} if steps[1:] else {})
    sums.check_proof(single, knowledge, rest | {"upper": inside}, where)
    return upper


def _rates(channel: Releases, stated: dict[str, Any], where: str) -> list[tuple[Ball, int]]:
    """The rate of each group of releases that have the same, and how many they are; every release is in one group."""
    strongest = several.strongest(channel.parts, where)
    many = len(strongest)
    listed = sequence(field(stated, "releases", where), f"'releases' of {where}")
    groups = [[whole(j, "a release", 0, many - 1) for j in sequence(group, "a group of releases")] for group in listed]
    if sorted(j for group in groups for j in group) != list(range(many)) or not all(groups):
        refuse(f"{where}: its groups do not have every release once")
    for group in groups:
        if any(strongest[j].size != strongest[group[0]].size for j in group):
            refuse(f"{where}: the releases {', '.join(map(str, group))} of one group have different rates")
    return [(strongest[group[0]].parameter, len(group)) for group in groups]


def _single(channel: Releases, stated: dict[str, Any], where: str) -> tuple[sums.Large, Ball]:
    """One release of the sum, and the chance with which all releases are a function of it."""
    one = channel.one
    if stated["step"] == "cone":
        rate = several.cone(channel.parts, stated, where)
        return replace(one, noise=named.geometric(rate, "geometric noise of the rate of the cone")), ONE
    statistic = one.statistic
    if one.query.name == "pairs":
        refuse(f"{where}: the answers are not the sums, and the mean is for these")
    g, sigma, kept = several.mean(channel.parts, stated, where)
    values = [g * c for c in statistic.contributions]
    fine = sums.rebuild(
        {"query": f"total(n={statistic.n}, values={values})", "mechanism": f"discrete_gaussian(sigma={sigma!r})"}
    )
    return replace(fine, records=one.records, reference=one.reference), kept
