"""A witness of a noisy histogram that ties every value of the record to its own count.

The prior gives every value a of the k the probability 1/k, and given a its count t_a the law w, the same for every a;
all else is as the reference, which is uniform, or with a `tilt` the counts of other values inside a window are the
multinomial ones times prod_b exp(tilt(t_b)). For every guess v(a|y) = E(y_a) / S, S = sum_b E(y_b), E >= 1 whole and
constant between cuts, nodes u_j > 0 and a step c > 0, with C the maximum of log x + c sum_j exp(-u_j x) over what S can
be,

    I(A;Y) >= log k + E log E(Y_a) - C + c sum_j E exp(-u_j S),
    E( exp(-u_j S) | t_a ) = phi_j(t_a) [x^N] ( sum_t phi_j(t) weight(t) x^t )^(k-1) / z,   N = n - t_a,

phi_j(t) = E exp(-u_j E(t + noise)), weights m^t / t!, times exp(tilt(t)) if any, and z the same without phi_j. Proof,
and D(pi || rho): docs/proofs/histograms.md, 8 to 11.
"""

from functools import cache
from itertools import pairwise
from typing import Any

from flint import arb, arb_mat, arb_poly

from dalenius.verifier.forms.named import Added
from dalenius.verifier.forms.secret import by_label
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, matrix
from dalenius.verifier.kernel.cells import Knowledge, allowed, attains, held
from dalenius.verifier.kernel.limits import tick, ticking
from dalenius.verifier.kernel.reading import ascending, field, fits, number, numbers, refuse, sequence, whole

HEAVIEST = 2**16  # of the weights: their sums are gone through


def check_witness(witness: dict[str, Any], channel: Any, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    n, values = channel.statistic.n, by_label(channel.labels or range(channel.statistic.k))
    k, together = len(values), len(values[0])
    if k == 1 or len(set(channel.masses)) != 1 or any(len(each) != together for each in values):
        refuse("a witness that ties values to counts is for a record whose values are equally likely, two or more")
    # Of a function of the record that several values share scores are compared, not counts.
    scores = ascending(field(witness, "scores", "the witness"), "scores of the witness", 1, n) if together > 1 else []
    most = together * len(scores) if together > 1 else n
    cuts = ascending(field(witness, "cuts", "the witness"), "cuts of the witness", 1, most)
    listed = sequence(field(witness, "weights", "the witness"), "weights of the witness", len(cuts) + 1)
    weights = [whole(e, "weights of the witness", 1, HEAVIEST) for e in listed]
    given = sequence(field(witness, "nodes", "the witness"), "nodes of the witness")
    nodes = [arb(x) for x in numbers(given, len(given), "nodes of the witness", low=0.0)]
    step = arb(number(field(witness, "step", "the witness"), "the step of the witness", low=0.0))
    window = sequence(field(witness, "window", "the witness"), "the window of the witness", 2)
    low, high = (whole(t, "the window of the witness", 0, n) for t in window)
    if low > high:
        refuse("the window of the witness ends before it begins")
    counts = range(low, high + 1)
    others = _Others(n, k, counts, witness.get("tilt"))
    law = _law(witness, channel.count(*values[0]), knowledge, others)
    sums = range(k * min(weights), k * max(weights) + 1)
    needed = sorted({*counts, *law})
    if together > 1:
        chances = _scored(channel.noise, arb(n) / (k * together), together, needed, scores, cuts)
    else:
        chances = _chances(channel.noise, needed, cuts)
    own = sum(
        (w * sum((p * arb(e).log() for p, e in zip(chances[t], weights, strict=True)), ZERO) for t, w in law.items()),
        ZERO,
    )
    most_log = _most(sums, nodes, step)
    seen = others.seen(law, _phi(chances, weights, nodes))
    leaked = arb(k).log() + own - most_log + step * sum(seen, ZERO)
    attains(leaked, lower)


def _law(witness: dict[str, Any], count: Any, knowledge: Knowledge, others: "_Others") -> dict[int, Ball]:
    """The law of the own count, one that the adversary may hold; count: the channel of that count."""
    n = count.statistic.n
    first = whole(field(witness, "first", "the witness"), "the first count of the witness", 1, n)
    given = sequence(field(witness, "masses", "the witness"), "masses of the witness")
    if len(given) > n + 1 - first:
        refuse(f"the witness has masses of counts above {n}")
    listed = numbers(given, len(given), "masses of the witness", low=0.0)
    masses = {t: arb(x) for t, x in enumerate(listed, first) if x > 0}
    total = sum(masses.values(), ZERO)
    if not total > 0:
        refuse("the witness has no mass")
    # Others that have the value, and the record itself.
    reference = {t + 1: p for t, p in count.others.items()}
    prior = {t: x / total for t, x in masses.items()}
    if others.tilt is None:
        return held([prior], [reference], knowledge, "the witness")[0]
    if knowledge.none:
        refuse("the witness tilts counts where the reference is the only prior that the adversary may hold")
    divergence = others.divergence(prior) + sum((p * (p / reference[t]).log() for t, p in prior.items()), ZERO)
    allowed(divergence, knowledge, "the witness")
    return prior


def _chances(noise: Added, counts: list[int], cuts: list[int]) -> dict[int, list[Ball]]:
    """P(output between two cuts | count), for every count. Clamping moves nothing across a cut inside the range."""
    below, result = cache(noise.below), {}
    for t in counts:
        tick()
        ends = [ZERO, *(below(c - 1 - t) for c in cuts), ONE]
        result[t] = [(b - a).nonnegative_part() for a, b in pairwise(ends)]
    return result


def _scored(  # noqa: PLR0917 - the whole law
    noise: Added, mean: Ball, together: int, counts: list[int], scores: list[int], cuts: list[int]
) -> dict[int, list[Ball]]:
    """P(score between two cuts | how many records have one of so many values), for every count.

    Given that their own counts are multinomial: a coefficient of a power of a polynomial in two variables, which is one
    in x and z = x^wide, as scores add up to less than `wide`.
    """
    top, wide = counts[-1], together * len(scores) + 1
    size = (top + 1) * wide
    fits(size * together, "the law of the scores of the witness")
    one = [ZERO] * size
    for t, levels in _chances(noise, list(range(top + 1)), scores).items():
        weight = (t * mean.log() - mean - arb(t + 1).lgamma()).exp()
        one[t * wide : t * wide + len(levels)] = [weight * p for p in levels]
    power, single = arb_poly([1]), arb_poly(one)
    for _ in range(together):
        tick()
        power = arb_poly((power * single).coeffs()[:size])
    result = {}
    for t in ticking(counts):
        total = (t * (together * mean).log() - together * mean - arb(t + 1).lgamma()).exp()
        law = [power[t * wide + s].nonnegative_part() / total for s in range(wide)]
        result[t] = [sum(law[a:b], ZERO) for a, b in pairwise([0, *cuts, wide])]
    return result


def _most(values: range, nodes: list[Ball], step: Ball) -> Ball:
    """C: the maximum of log x + c sum_j exp(-u_j x) over whole x."""
    top = None
    factors = [(-u).exp() for u in nodes]
    powers = [(-u * values[0]).exp() for u in nodes]
    for x in ticking(values, every=64):
        value = arb(x).log() + step * sum(powers, ZERO)
        top = value if top is None else top.max(value)
        powers = [p * f for p, f in zip(powers, factors, strict=True)]
    return top


def _phi(chances: dict[int, list[Ball]], weights: list[int], nodes: list[Ball]) -> list[dict[int, Ball]]:
    """E exp(-u_j E(t + noise)) for every node j and count t."""
    rates = arb_mat([[(-u * e).exp() for u in nodes] for e in weights])
    product = matrix(list(chances.values())) * rates
    entries, many = product.entries(), len(nodes)
    return [dict(zip(chances, entries[j::many], strict=True)) for j in range(many)]


class _Others:
    """The counts of other values: inside the window, tilted or not."""

    def __init__(self, n: int, k: int, counts: range, tilt: object) -> None:
        self.n, self.k, self.counts = n, k, counts
        scale = arb(n) / k
        self.mean = (k - 1) * scale
        self.weights = [(t * scale.log() - scale - arb(t + 1).lgamma()).exp() for t in ticking(counts)]
        self.tilt: list[Ball] | None = None
        if tilt is not None:
            listed = sequence(tilt, "the tilt of the witness", len(counts))
            self.tilt = [arb(x) for x in numbers(listed, len(listed), "the tilt of the witness")]
            self.weights = [w * x.exp() for w, x in zip(self.weights, self.tilt, strict=True)]

    def _place(self, own: int) -> int:
        """Where the others' sum is in a power of k-1; outside of it if they cannot have it."""
        return self.n - own - (self.k - 1) * self.counts[0]

    def _plain(self, own: int) -> Ball:
        """((k-1) m)^N / N!, in the scale of the weights."""
        rest = self.n - own
        return (rest * self.mean.log() - self.mean - arb(rest + 1).lgamma()).exp()

    def _totals(self, owns: Any) -> dict[int, Ball]:
        """What the law of the others is divided by, for own counts that leave them a sum that they can have."""
        reached = [t for t in owns if 0 <= self._place(t) <= (self.k - 1) * (len(self.counts) - 1)]
        if self.tilt is None:
            return {t: self._plain(t) for t in ticking(reached)}
        power = arb_poly(self.weights) ** (self.k - 1)
        return {t: power[self._place(t)] for t in reached}

    def divergence(self, law: dict[int, Ball]) -> Ball:
        """The mean of D(others || reference) over the own count."""
        assert self.tilt is not None  # for the type checker
        totals = self._totals(law)
        if not all(t in totals and totals[t] > 0 for t in law):
            refuse("the witness has own counts that leave the others more or fewer records than its window has")
        told = arb_poly([w * x for w, x in zip(self.weights, self.tilt, strict=True)])
        rest = told * arb_poly(self.weights) ** (self.k - 2)
        terms = (
            w * ((self.k - 1) * rest[self._place(t)] / totals[t] - (totals[t] / self._plain(t)).log())
            for t, w in ticking(law.items())
        )
        return sum(terms, ZERO)

    def seen(self, law: dict[int, Ball], phi: list[dict[int, Ball]]) -> list[Ball]:
        """At most E exp(-u_j S) for every node, counts of others inside the window."""
        totals = self._totals(law)
        result = []
        for values in phi:
            tick()
            power = arb_poly([w * values[t] for w, t in zip(self.weights, self.counts, strict=True)]) ** (self.k - 1)
            found = ((t, power[self._place(t)].nonnegative_part()) for t in totals)
            result.append(sum((law[t] * values[t] * x / totals[t] for t, x in found), ZERO))
        return result
