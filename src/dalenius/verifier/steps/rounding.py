"""Records that are real numbers: sums and means with Laplace, Gaussian or geometric noise, through records on a grid.

A certificate holds two certificates about whole numbers: a witness about cells of a grid, and a proof about its points.
Noise q of the release and noise q' on the grid have q >= (1 - b) q', so that for every prior and every secret

    I(A;Y)  <=  (1 - b) I(A;Y') + b log( M / b ),          M the integral of sup_x q_x,

and the same with the roles exchanged from below. What b is, which proofs about grid points are proofs about the real
record, and what else is paid for: docs/proofs/real-records.md, whose steps 1 to 11 the functions below name.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, arb_poly, ctx

from dalenius.verifier.forms import named
from dalenius.verifier.forms.counting import LONG_BITS, Sum
from dalenius.verifier.forms.real_records import Believed, Density, Problem, labels
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, exact, short, xlogx
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import AUDIT, field, fits, mapping, number, numbers, refuse, sequence, show, whole

# Noise on whole numbers, from above and from below.
NOISE = {"laplace": ("geometric", "laplace"), "gaussian": ("discrete_gaussian", "discrete_gaussian")}
# Kinds of proof with one law r and one s for all values; trees only with a single leaf.
ONE_POINT = ("sibson", "convex", "rows", "monotone", "law")
ONE_LEAF = ("choices",)
# Bits beside those that the least coefficient of a power needs.
SPARE = 128
# Checks a certificate about whole numbers; returns its bounds.
Inner = Callable[[dict[str, Any]], tuple[float, float]]


def check_witness(witness: dict[str, Any], problem: Problem, asked: Believed, lower: float, inner: Inner) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of a record."""
    if problem.steps is not None:
        least, _ = _in_steps(problem, asked, inner, witness, "the witness", above=False)
        if lower > 0 and not least >= lower:
            refuse(f"the witness leaks {short(least)}, less than {lower!r}")
        return
    m = _grid(witness, "the witness")
    points = not (asked.exactly or asked.knowledge is not None)
    law, far = asked.reference.cells(m)
    averaged = 0 if points else asked.many
    audit, noise = _posed(witness, asked, NOISE[problem.family][1], "the witness", points=points)
    _about(audit, labels(asked, m))
    leaked, n = _leaked(audit, asked, law, inner, above=False)[0], asked.many
    bounds = _less(leaked, _averaged(problem, n, m, noise, far, averaged))
    if far == 0 and problem.family == "laplace":
        bounds.append(leaked - (1 + averaged * exact(problem.size / m) ** 2 / 24).log())
    elif far == 0:
        places = (1 + averaged / (12 * exact(problem.size * m) ** 2)).log() / 2
        bounds += [bound - places for bound in _less(leaked, _averaged(problem, n, m, noise, far, 0))]
    if lower > 0 and not any(bound >= lower for bound in bounds):
        refuse(f"the witness leaks {', '.join(map(short, bounds)) or 'nothing'}, less than {lower!r}")


def _less(leaked: Ball, way: tuple[Ball, Ball] | None) -> list[Ball]:
    """What is leaked less what is hidden; nothing where this way is not open."""
    return [] if way is None else [(leaked - _hidden(*way)) / way[0]]


def _averaged(  # noqa: PLR0917 - a problem, its grid and the witness's noise
    problem: Problem, n: int, m: int, noise: Fraction, far: Fraction, averaged: int
) -> tuple[Ball, Ball] | None:
    """Return 1 - b and M of noise that was averaged over the places of so many records in cells, and rounded."""
    if problem.family == "laplace":
        rate = exact(problem.size / m)
        if not noise <= problem.size / m:
            refuse("the noise of the witness is less than that of the mechanism")
        half = rate / 2
        sinh = half.sinh()
        kept = exact(noise / (problem.size / m)) * (sinh / half + 2 * exact(far) * sinh) ** -averaged
        return kept, 1 + exact(noise) * n * m / 2
    deviation, tau = exact(problem.size * m), exact(noise)
    if not _covers(deviation**2, arb(12), averaged + 1, tau**2):
        return None
    kept = deviation / tau / _poisson(tau) / (1 + 2 * arb("1.5").exp() * exact(far)) ** averaged
    return kept, 1 + arb(n * m) / (tau * (2 * arb.pi()).sqrt())


def check_proof(proof: dict[str, Any], problem: Problem, asked: Believed, inner: Inner, where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(X_i;Y) <= result for every prior the adversary may hold.
    """
    kinds: dict[str, Callable[..., Ball]] = {"maximal": lambda *_: maximal(problem, asked.many).log()}
    kinds |= {"rounded": _rounded} if problem.steps is None else {"stepped": _stepped}
    if asked.bins is not None:
        bins = len(asked.bins) - 1
        kinds["trivial"] = lambda *_: arb(bins).log()
        kinds |= {"snapped": _snapped} if problem.steps is None else {}
    return claimed(kinds, (problem, asked, inner), proof, where)


def maximal(problem: Problem, n: int) -> Ball:
    """The integral of sup_x q_x: I(A;Y) is at most its logarithm, as D(q_x || sup q / M) is."""
    if problem.steps is not None:
        return 1 + n * problem.steps * (exact(problem.size / problem.steps) / 2).tanh()
    if problem.family == "laplace":
        return 1 + exact(problem.size) * n / 2
    return 1 + n / (exact(problem.size) * (2 * arb.pi()).sqrt())


def _stepped(problem: Problem, asked: Believed, inner: Inner, proof: dict[str, Any], where: str) -> Ball:
    return _in_steps(problem, asked, inner, proof, where, above=True)[1]


def _in_steps(
    problem: Problem, asked: Believed, inner: Inner, part: dict[str, Any], where: str, *, above: bool
) -> tuple[Ball, Ball]:
    """What records leak that a mechanism rounds to steps itself (step 11): between these two, of whole numbers."""
    m = problem.steps
    assert m is not None  # for the type checker
    if _grid(part, where) != m:
        refuse(f"{where}: it must have the {m} steps of the mechanism")
    audit, noise = _posed(part, asked, "geometric", where, points=True)
    if not (noise >= problem.size / m if above else noise <= problem.size / m):
        refuse(f"{where}: its noise is {'more' if above else 'less'} than that of the mechanism")
    about = labels(asked, m, half=True)
    _about(audit, about)
    if above and about is None and not asked.markov:
        _one_point(audit, where)
    return _leaked(audit, asked, asked.reference.nearest(m), inner, above=above)


def _leaked(
    audit: dict[str, Any], asked: Believed, law: list[Fraction], inner: Inner, *, above: bool, more: Ball = ZERO
) -> tuple[Ball, Ball]:
    """The bounds of an inner certificate, about records of this law in place of the one that it states (step 8)."""
    least, most = inner(audit)
    share, coin = _mixed(audit, asked, law, above=above, more=more)
    return share * arb(least) - coin, share * arb(most) + coin + (ONE - share) * arb(len(law)).log()


def _rounded(problem: Problem, asked: Believed, inner: Inner, proof: dict[str, Any], where: str) -> Ball:
    """Records at grid points by coins: steps 2 to 5."""
    m, n = _grid(proof, where), asked.many
    audit, noise = _posed(proof, asked, NOISE[problem.family][0], where, points=True)
    _about(audit, None)
    coins, single = _coins(proof, asked, m, where)
    kept = _on_grid(proof, problem, noise, coins, where)
    if problem.family == "laplace":
        rate = exact(noise)
        kept = exact(problem.size / m / noise) * (rate / rate.sinh()) ** coins
    if not asked.markov:
        _one_point(audit, where)
    _, inside = _leaked(audit, asked, asked.reference.points(m), inner, above=True, more=single.log())
    if not asked.markov:
        inside += named.lost(audit["problem"], named.query(audit["problem"]["query"])) * arb(n * m + 1).log()
    if asked.nothing and coins < n:
        # At eta = 0 the coin is certain.
        beta = (ONE - ONE / single).nonnegative_part()
        inside = single * (inside - xlogx(beta) - xlogx(ONE / single))
    return kept * inside + _hidden(kept, maximal(problem, n))


def _on_grid(proof: dict[str, Any], problem: Problem, noise: Fraction, coins: int, where: str) -> Ball:
    """The share of the release that noise on the grid makes, after so many steps of the variance (steps 2 and 3)."""
    m = _grid(proof, where)
    if problem.family == "laplace":
        if not noise >= problem.size / m:
            refuse(f"{where}: its noise is more than that of the mechanism")
        return ONE
    deviation, tau = exact(problem.size * m), exact(noise)
    spread = arb(number(field(proof, "spread", where), f"the spread of {where}"))
    if not spread > 0:
        refuse(f"{where}: its spread must be above 0")
    variance = tau**2 + spread**2
    if not (variance <= deviation**2 and (coins == 0 or _covers(variance, arb(4), coins, deviation**2))):
        refuse(f"{where}: its noise is more than that of the mechanism, or does not cover the steps of the grid")
    return variance.sqrt() / deviation / _poisson(tau * spread / variance.sqrt())


def _coins(proof: dict[str, Any], asked: Believed, m: int, where: str) -> tuple[int, Ball]:
    """Return how many coins round the data, and 1 + eta: one for each record, or one for the others together."""
    if "together" not in proof:
        return asked.many, ONE
    if proof["together"] is not True or asked.many < 3 or (asked.independent and not asked.exactly):
        refuse(f"{where}: one coin for the others does not fit this question")
    return 2, one_coin(asked.reference, m, asked.many)


def one_coin(density: Density, m: int, n: int) -> Ball:
    """Return 1 + eta, from above: one coin for the sum of n - 1 records against a coin for each (step 5).

    Let N others have the sum S, S' one of the two integers next to S by a coin whose mean is S, and T' the sum of the
    others when each goes to a neighbour by a coin of its own. No edge of the density cuts a cell; with p the generating
    function of a cell the laws of S' and T' are the coefficients of

        p(z)^N E(z)   and   p(z)^N ((1+z)/2)^N,      E(z) with coefficients A(N+1, k) / (N+1)!, A Eulerian numbers,

    and 1 + eta is the largest ratio of the two.
    """
    others = n - 1
    cells, far = density.cells(m)
    if others < 1 or far != 0 or min(cells) <= 0:
        refuse("one coin for the other records needs other records, and cells that no edge cuts")
    least = min(cells)
    bits = SPARE + others * (2 + max(0, least.denominator.bit_length() - least.numerator.bit_length()))
    fits(others * m * bits / LONG_BITS, "one coin for the other records")
    before, ctx.prec = ctx.prec, bits
    try:
        power = arb_poly([arb(p.numerator) / p.denominator for p in cells]) ** others
        tick()
        euler = [ONE]
        for j in range(1, others + 1):
            tick()
            low, high = [*euler, ZERO], [ZERO, *euler]
            euler = [((k + 1) * low[k] + (j + 1 - k) * high[k]) / (j + 1) for k in range(j + 1)]
        single = (power * arb_poly(euler)).coeffs()
        tick()
        each = (power * arb_poly([ONE / 2, ONE / 2]) ** others).coeffs()
        tick()
        ratios = [s / t for s, t in zip(single, each, strict=True)]
    finally:
        ctx.prec = before
    # Each of them: of numbers of which one is none, max may return another.
    if not all(ratio.is_finite() for ratio in ratios):
        refuse("one coin for the other records cannot be compared with a coin for each")
    return arb(math.nextafter(max(float(ratio.upper()) for ratio in ratios), math.inf))


def _snapped(problem: Problem, asked: Believed, inner: Inner, proof: dict[str, Any], where: str) -> Ball:
    """A bound on what is told of a bin: records at the middles of their cells, and what moving them costs (step 10)."""
    m, n = _grid(proof, where), asked.many
    audit, noise = _posed(proof, asked, NOISE[problem.family][0], where, points=False)
    _about(audit, labels(asked, m))
    kept = _on_grid(proof, problem, noise, 0, where)
    moved = exact(problem.size / m) * n / 2 if problem.family == "laplace" else n / (2 * exact(problem.size * m))
    _, inside = _leaked(audit, asked, asked.reference.cells(m)[0], inner, above=True)
    return kept * inside + _hidden(kept, maximal(problem, n)) + moved


def _about(audit: dict[str, Any], expected: list[int] | None) -> None:
    """Refuse a certificate about another secret: every record, or the function of the cells of record 0."""
    if expected is None:
        if "secret" in audit:
            refuse("the audit inside must be about every record of whole numbers")
    elif audit.get("secret") != {"kind": "attributes", "records": [0], "values": expected}:
        refuse("the audit inside must be about the bin of record 0")


def _poisson(c: Ball) -> Ball:
    """At least sum_k exp(-2 pi^2 c^2 k^2) over all integers, which is at most 1 + 2 r/(1 - r) with r its term k = 1."""
    r = (-2 * (arb.pi() * c) ** 2).exp()
    if not r < 1:
        refuse("the noise on the grid is too little")
    return 1 + 2 * r / (1 - r)


def _hidden(kept: Ball, most: Ball) -> Ball:
    """b log( M / b ), b = 1 - kept, which is not below 0: both are laws."""
    if not kept > 0:
        refuse("the grid is too coarse: nothing is left of the release")
    b = (ONE - kept).nonnegative_part()
    return b * most.log() - xlogx(b)


def _covers(variance: Ball, by: Ball, n: int, most: Ball) -> bool:
    """Whether v' = v / (1 - 1/(by v)), n times over, stays within `most`.

    With d = 1/by a step is v' = v + d v/(v - d), and v/(v-d) falls as v grows, so that n steps add at most
    n d v/(v - d) for the first v.
    """
    d = ONE / by
    return bool(variance > d and variance + n * d * variance / (variance - d) <= most)


def _grid(given: dict[str, Any], where: str) -> int:
    return whole(field(given, "cells", where), f"cells of {where}", 1, largest().parts)


def _posed(
    part: dict[str, Any], asked: Believed, family: str, where: str, *, points: bool
) -> tuple[dict[str, Any], Fraction]:
    """Return the certificate about whole numbers inside, and its noise in steps; refused where it is about others."""
    m, audit = _grid(part, where), mapping(field(part, "audit", where), f"the audit of {where}")
    if audit.get("format") != AUDIT or audit.get("form") == "real-records":
        refuse("the audit inside must be about every record of whole numbers")
    inside = mapping(field(audit, "problem", "the audit inside"), "its problem")
    if set(inside) != {"query", "mechanism"}:
        refuse("the audit inside must be about a mechanism given by its name")
    query = named.query(inside["query"])
    if query.name != "total" or query.statistic != Sum(asked.many, tuple(range(m + points))):
        refuse(f"the audit inside must be about total(n={asked.many}, values=0..{m - 1 + points}), not {query.text}")
    noise = named.added(inside["mechanism"], query, rounded=True)
    if noise.family != family or noise.output != "integer":
        refuse(f"the audit inside must be about {family} noise, not {noise.text}")
    if family == "discrete_gaussian" and noise.clamped:
        # Clamping hides something of it, as it does not of geometric and Laplace noise: see named.Added.widened.
        refuse(f"the audit inside must be about noise that is not clamped, not {noise.text}")
    # Its knowledge and its law are compared in `_mixed`.
    adversary = mapping(field(audit, "adversary", "the audit inside"), "its adversary")
    if ("independent" in adversary) != asked.independent or ("knowledge" in adversary) != (asked.knowledge is not None):
        refuse("the audit inside is about another adversary")
    if ("reference" in adversary) != (asked.knowledge is not None or asked.exactly):
        refuse("the audit inside counts from another law")
    if noise.size is None:
        refuse("the audit inside has a single answer")
    return audit, noise.size


def _mixed(
    audit: dict[str, Any], asked: Believed, law: list[Fraction], *, above: bool, more: Ball = ZERO
) -> tuple[Ball, Ball]:
    """Return (1-beta)^n and h of an inner certificate whose law is that of the density up to rounding.

    With knowledge its adversary must know enough more, or less, to make up for the difference: then they are 1 and 0.
    more: what it must know beside that.
    """
    adversary = audit["adversary"]
    if asked.knowledge is None and not asked.exactly:
        return ONE, ZERO
    stated = _stated(adversary["reference"], len(law))
    ratios = [p / q for p, q in zip(law, stated, strict=True)]
    if not asked.nothing:
        k = arb(number(adversary["knowledge"], "the knowledge inside", low=0.0))
        if above:
            enough = k >= asked.knowledge + asked.many * exact(max(ratios)).log() + more
        else:
            enough = k <= asked.knowledge + asked.many * exact(min(ratios)).log()
        if not enough:
            refuse("the knowledge inside does not make up for the rounding of its law")
        return ONE, ZERO
    if asked.knowledge is not None and number(adversary["knowledge"], "the knowledge inside") != 0:
        refuse("the adversary inside knows something, but this one knows nothing")
    share = exact(min(ratios)) ** asked.many
    return share, -xlogx(share) - xlogx(ONE - share)


def _stated(reference: object, size: int) -> list[Fraction]:
    given = mapping(reference, "the reference inside")
    if set(given) != {"marginal"}:
        refuse("the audit inside needs one law for all records")
    listed = [Fraction(p) for p in numbers(given["marginal"], size, "the law inside", low=0.0)]
    if min(listed) <= 0:
        refuse("the law inside must be positive")
    total = sum(listed)
    return [p / total for p in listed]


def _one_point(audit: dict[str, Any], where: str) -> None:
    """Refuse proofs that are about grid points only, not about the real record."""
    for proof in sequence(field(audit, "proofs", "the audit inside"), "proofs inside"):
        kind = mapping(proof, "a proof inside").get("kind")
        leaf = kind in ONE_LEAF and len(sequence(proof.get("tree", ()), "the tree inside")) == 1
        for step in sequence(proof.get("steps", ()), "the steps inside"):
            # All steps use the values of the grid, but for points between and beyond which no value is told.
            counts = mapping(step, "a step inside").get("step") != "points" or "told" in step
            if counts or ("order" not in step and step.get("every") != 1):
                refuse(f"{where}: steps that use log|A| are about records on a grid, not about real-valued ones")
        if kind not in ONE_POINT and not leaf:
            refuse(f"{where}: a proof by {show(kind)} is about records on a grid, not about real-valued ones")
