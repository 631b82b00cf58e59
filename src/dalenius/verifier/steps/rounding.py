"""Records that are real numbers: sums and means with Laplace, Gaussian or geometric noise, through records on a grid.

Lengths are in steps of a grid of m cells, so that records are in [0, m] and F is their sum, of n records; Y = F + N
is the release, N of density g: Laplace noise of rate H, or Gaussian noise of deviation s. Knowledge counts from a
density that is constant between edges, the same for every record, records independent. A certificate holds two
certificates about whole numbers, one for each bound: a witness about cells, and a proof about grid points.

**Lemma.** Let q and q' be channels from the same data to the same outputs, q_x >= (1 - b) q'_x for every dataset x
with 0 < b < 1, and M the integral of sup_x q_x. Then for every prior and every secret A

    I(A;Y)  <=  (1 - b) I(A;Y') + b log( M / b ).

Proof. q_x = (1-b) q'_x + b t_x with laws t_x. Toss a coin E with P(E = 1) = b for them, whatever the data: I(A;Y) <=
I(A;Y,E) = I(A;Y|E) = (1-b) I(A;Y') + b I(A;Z), Z of law t_x. t_x <= q_x/b <= (M/b) r with the law r = sup_x q_x / M,
so that I(A;Z) <= sup_x D(t_x||r) <= log(M/b). QED. Of noise around answers in an interval of length l, M = 1 + H l/2
(Laplace), 1 + l/(s sqrt(2 pi)) (Gaussian).

**From above** ("rounded"). Each record goes to one of the two grid points next to it, by a coin of its own whose mean
is the record. Let X' be these points, and Y' = sum X' + N', N' noise as below. Then q >= (1-b) q':
Laplace, N' of rate H' >= H: with x in [0,1] the function g'(y-x) - A g'(y) - B g'(y-1), A = sinh(H'(1-x))/sinh H', B
= sinh(H' x)/sinh H', is 0 outside (0,1) and the solution of u'' = H'^2 u - H'^2 delta_x with u = 0 at both ends
inside, so >= 0; and sinh(H' x) >= H' x. So (1-x) g'(y) + x g'(y-1) <= (sinh H'/H') g'(y-x), once for every record,
and g' <= (H'/H) g: 1 - b = (H/H') (H'/sinh H')^n.
Gaussian, N' of variance v: an error e of mean 0 in an interval of length 1 has E exp(te) <= exp(t^2/8), so that E
phi_v(y-e) <= sqrt(v'/v) phi_v'(y), 1/v' = 1/v - 1/(4 v^2). After n records v_n <= s^2 (checked), phi_{v_n} <= (s/sqrt
v_n) phi_{s^2}: 1 - b = sqrt(v)/s.
Y' is then put on the grid. Laplace: N' = G + J with G geometric of ratio exp(-H'), J of density (H'/2)
sinh(H'(1-|u|)) / (tanh(H'/2) sinh H'), |u| < 1: both sides are the same multiples of exp(+-H' y) between integers,
and agree at them. So Y' is made from sum X' + G. Gaussian: let G be discrete Gaussian of parameter tau, W of variance
w^2, v = tau^2 + w^2. The density of G + W is phi_v(y) sum_j phi_c(j - y tau^2/v) / sum_j phi_tau(j), c = tau w/sqrt
v, at most (1 + d) phi_v(y) with 1 + d = sum_k exp(-2 pi^2 c^2 k^2) (Poisson); 1 - b has the factor 1/(1 + d) more.
So I(A;Y) <= (1-b) I(A; sum X' + G) + b log(M/b), for A = X_i too. What is left is a bound on I(X_i; sum X' + G).
The law of X' is at most 1 + eta times the stated one in every record (checked in rationals: hat-shaped averages of
the density), so that D(X' || stated) <= K + n log(1 + eta), where K is the knowledge.
*One record, or independent records.* X_i acts through X'_i alone: I(X_i;.) <= I(X'_i;.), and any proof will do.
*Otherwise* a proof must bound max_w { D(wq||r) - s D(w||rho) } =: g_k for every value k of the record with one law r
and one s for all: then for X_i = a, given which the others' points have the law w_a,
    I(X_i;.) <= E[ sum_k P(k|a) D(w_a q_k||r) ],   K - D(p_i||rho_i) - E D(w_a||rho') >= 0,
and by Gibbs and Jensen I <= s K + s log int rho_i(da) exp( sum_k P(k|a) g_k/s ) <= s K + s log sum_k rho'(k)
e^(g_k/s).
Bounds by log|A|, and trees whose leaves have their own r and s, are about grid points only, and are refused: digits of
X_i may be tied to the others, and tell more than log(m+1). So are monotone rows that use log|A| for a share of the
release: those of tables, which are repaired, those on points without an order, unless every answer is a point, and
those on points that tell the secret beyond them.
Where outputs of discrete Gaussian noise were put together, they tell at most what the sum of n records does, log(nm+1).
*The others together*: others.py rounds their sum by one coin, and b does not grow with n.

**From below** (the witness). Let C_i be the cell of record i, and inside its cells the prior be as the density.
I(X_i;Y) >= I(C_i;Y) >= I(C_i; Y rounded), and the channel from cells is g averaged over the places in cells. It is at
most B times the one from the middles with noise N''. TV: the largest distance in variation of the law in a cell from
the uniform one.
Laplace of rate H'' <= H, rounded and clamped: E exp( H(|y| - |y-e|) ) <= max E exp(+-He), so that every record brings
the factor S = sinh(H/2)/(H/2) + 2 TV sinh(H/2), and g <= (H/H'') g'': B = (H/H'') S^n.
Discrete Gaussian of parameter tau: E exp(te) <= (1 + 2 e^(3/2) TV) exp(t^2/24), as x <= x^2/6 + 3/2. So v_0 = s^2,
1/v' = 1/v - 1/(12 v^2), once for every record and once more for rounding, whose chances are averages over an interval
of length 1; v_{n+1} <= tau^2 (checked). phi_tau(k) <= (1 + d) P(k) with 1 + d = sum_k exp(-2 pi^2 tau^2 k^2): B =
(tau/s) (1 + d) (1 + 2 e^(3/2) TV)^n.
By the lemma with the roles exchanged I(C_i;Y) >= (I(C_i;Y'') - b log(M/b)) / (1-b), b = 1 - 1/B.
*Where no edge cuts a cell* (TV = 0) the places in cells are independent of everything: with F the sum of the middles,
Z = F + N and Y = Z + e, e independent of variance n/12. A - F - Z - Y is a Markov chain, so that
    I(A;Z) - I(A;Y) = I(A;Z|Y) <= I(F;Z|Y) = I(F;Z) - I(F;Y) = h(Z) - h(Y) + h(N+e) - h(N) <= h(N+e) - h(N),
as h(Y) >= h(Y|e) = h(Z). Laplace: h(N+e) <= log(2e E|N+e|), E|N+x| = |x| + exp(-H|x|)/H <= (1 + H^2 x^2/2)/H, and h(N)
= log(2e/H): at most log(1 + n H^2/24). Gaussian: at most log(1 + n/(12 s^2))/2. So
    I(C_i;Y) >= I(C_i; F + N) - log(1 + n H^2/24).
Laplace: F + N, rounded, is Laplace noise on whole numbers; that of rate H'' <= H leaks less, being that of rate H and,
with probability 1 - (H''/H)^2, independent noise of rate H'' more. Gaussian: F + N is compared with discrete Gaussian
noise as above, no record averaged, for rounding alone. The true law of
cells is at least 1 - beta times the stated one, so that the witness may have D <= K + n log(1 - beta).
*No knowledge* (K = 0), or others that follow the density exactly: the true law is at least (1-beta)^n times the
stated one, the prior is a mixture by a coin E, and I >= (1-beta)^n I' - h, I <= (1-beta)^n I' + h + (1-(1-beta)^n)
log(m+1), h = H(E): records act through their own points then.
*Independent records without a reference*: the others are known or independent, and I(X_i;Y) <= I(X_i; X_i + N), with
equality where they are known: one record, n = 1, in all of the above. The witness is then on grid points themselves,
which a prior may have: no place in a cell is averaged, TV = 0 and S = 1.
*The bin of a record as the secret* (no cell is cut by an edge of a bin) is a function of its cell, and the witness is
about it. From above it has log of the number of bins, what holds for the record ("rounded"), and "snapped": let every
record be at the middle of its cell, so that the answer moves by e, |e| <= n/2. For Y_u = F + u e + N
    d/du I(A;Y_u) = E[ e ( (log p_u(.|A))' - (log p_u)' )(Y_u) ],
the score of a sum is the conditional mean of that of the noise, likewise given A, so that the bracket has mean square
at most the Fisher information J of the noise, and |I(A;Y_1) - I(A;Y_0)| <= (n/2) sqrt J: n H/2, or n/(2 s). The bin
is a function of the cells, whose law has no more divergence than the data, so that any proof about them will do.
Laplace noise of rate H is made from that of rate H' >= H, which is geometric noise and a jitter; Gaussian noise is put
on the grid as above.

**Records rounded to steps by the mechanism** (geometric noise; "stepped"). Record j goes to the nearest of m + 1 points
X'_j, and the release is Y = sum X' + G, clamped, which tells as much as without. So nothing is hidden: I(X_i;Y) >=
I(X'_i;Y), inside the numbers that go to one point a prior be as the density, and its D is that of the points: every
witness about them is one about real records. From above the digits of X_i may be tied to the others, so that I(X_i;Y)
may exceed I(X'_i;Y). Given X_i = a, with the others' points of law w_a and k = X'_i, for one law r and one s
    I(X_i;Y) <= E D(w_a q_k||r),   K >= D(p_i||rho_i) + E D(w_a||rho'),
and by Gibbs I <= s K + s log int rho_i(da) e^(g_k/s) = s K + s log sum_k rho'(k) e^(g_k/s): proofs as above, without
Jensen's inequality. Where X_i acts through X'_i alone, and where the secret is a bin whose edges do not part the
numbers of one point, any proof will do. Geometric noise of ratio alpha is made from that of alpha' <= alpha: with c =
cos theta
    1 - 2 alpha' c + alpha'^2 = (alpha'/alpha) (1 - 2 alpha c + alpha^2) + (1 - alpha'/alpha) (1 - alpha alpha'),
so that the ratio of the characteristic functions is a mixture of 1 and that of ratio alpha. So the rate may be rounded
outward.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from dalenius.verifier.forms import named
from dalenius.verifier.forms.counting import Sum
from dalenius.verifier.forms.real_records import Believed, Problem, labels, positive
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, short, xlogx
from dalenius.verifier.kernel.limits import largest
from dalenius.verifier.kernel.reading import AUDIT, field, mapping, number, numbers, refuse, sequence, show, whole

from .one_coin import one_coin

# Noise on whole numbers, from above and from below.
NOISE = {"laplace": ("geometric", "laplace"), "gaussian": ("discrete_gaussian", "discrete_gaussian")}
# Kinds of proof with one law r and one s for all values; trees only with a single leaf.
ONE_POINT = ("maximal", "sibson", "convex", "rows", "monotone", "centre", "law")
ONE_LEAF = ("choices",)
# Checks a certificate about whole numbers; returns its bounds.
Inner = Callable[[dict[str, Any]], tuple[float, float]]


def check_witness(witness: dict[str, Any], problem: Problem, asked: Believed, lower: float, inner: Inner) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of a record."""
    if problem.steps is not None:
        least, _ = _in_steps(witness, problem, asked, inner, above=False, where="the witness")
        if lower > 0 and not least >= lower:
            refuse(f"the witness leaks {short(least)}, less than {lower!r}")
        return
    m = _grid(witness, "the witness")
    points = not (asked.exactly or asked.knowledge is not None)
    law, far = asked.reference.cells(m)
    averaged = 0 if points else asked.many
    audit = mapping(field(witness, "audit", "the witness"), "the audit of the witness")
    noise = _posed(audit, asked, m, NOISE[problem.family][1], points=points)
    _about(audit, labels(asked, m))
    least, _ = inner(audit)
    share, coin = _mixed(audit, asked, law, above=False)
    leaked, n = share * arb(least) - coin, asked.many
    bounds = _less(leaked, _averaged(problem, n, m, noise, far, averaged))
    if far == 0 and problem.family == "laplace":
        bounds.append(leaked - (1 + averaged * _ball(problem.size / m) ** 2 / 24).log())
    elif far == 0:
        places = (1 + averaged / (12 * _ball(problem.size * m) ** 2)).log() / 2
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
        rate = _ball(problem.size / m)
        if not noise <= problem.size / m:
            refuse("the noise of the witness is less than that of the mechanism")
        half = rate / 2
        sinh = half.sinh()
        kept = _ball(noise / (problem.size / m)) * (sinh / half + 2 * _ball(far) * sinh) ** -averaged
        return kept, 1 + _ball(noise) * n * m / 2
    deviation, tau = _ball(problem.size * m), _ball(noise)
    if not _covers(deviation**2, arb(12), averaged + 1, tau**2):
        return None
    kept = deviation / tau / _poisson(tau) / (1 + 2 * arb("1.5").exp() * _ball(far)) ** averaged
    return kept, 1 + arb(n * m) / (tau * (2 * arb.pi()).sqrt())


def check_proof(proof: dict[str, Any], problem: Problem, asked: Believed, inner: Inner, where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(X_i;Y) <= result for every prior the adversary may hold.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    kind = field(proof, "kind", where)
    if kind == "maximal":
        bound = maximal(problem, asked.many).log()
    elif kind == "trivial" and asked.bins is not None:
        bound = arb(len(asked.bins) - 1).log()
    elif kind == "snapped" and asked.bins is not None and problem.steps is None:
        bound = _snapped(proof, problem, asked, inner, where)
    elif kind == "stepped" and problem.steps is not None:
        _, bound = _in_steps(proof, problem, asked, inner, above=True, where=where)
    elif kind == "rounded" and problem.steps is None:
        bound = _rounded(proof, problem, asked, inner, where)
    else:
        ways = ("rounded", "snapped") if problem.steps is None else ("stepped",)
        known = ", ".join(("maximal", ways[0], *(("trivial", *ways[1:]) if asked.bins is not None else ())))
        refuse(f"{where}: its kind is none of {known}, which are for real-valued records")
    if not bound <= upper:
        refuse(f"{where}: bound {short(bound)} exceeds claimed {upper:.10g}")
    return upper


def maximal(problem: Problem, n: int) -> Ball:
    """The integral of sup_x q_x: I(A;Y) is at most its logarithm, as D(q_x || sup q / M) is."""
    if problem.steps is not None:
        return 1 + n * problem.steps * (_ball(problem.size / problem.steps) / 2).tanh()
    if problem.family == "laplace":
        return 1 + _ball(problem.size) * n / 2
    return 1 + n / (_ball(problem.size) * (2 * arb.pi()).sqrt())


def _in_steps(
    part: dict[str, Any], problem: Problem, asked: Believed, inner: Inner, *, above: bool, where: str
) -> tuple[Ball, Ball]:
    """What records leak that a mechanism rounds to steps itself: between these two, of whole numbers."""
    m = problem.steps
    assert m is not None  # noqa: S101 - for the type checker
    if _grid(part, where) != m:
        refuse(f"{where}: it must have the {m} steps of the mechanism")
    audit = mapping(field(part, "audit", where), f"the audit of {where}")
    noise = _posed(audit, asked, m, "geometric", points=True)
    if not (noise >= problem.size / m if above else noise <= problem.size / m):
        refuse(f"{where}: its noise is {'more' if above else 'less'} than that of the mechanism")
    about = labels(asked, m, half=True)
    _about(audit, about)
    if above and about is None and not asked.markov:
        _one_point(audit, where)
    least, most = inner(audit)
    share, coin = _mixed(audit, asked, asked.reference.nearest(m), above=above)
    return share * arb(least) - coin, share * arb(most) + coin + (ONE - share) * arb(m + 1).log()


def _rounded(proof: dict[str, Any], problem: Problem, asked: Believed, inner: Inner, where: str) -> Ball:
    most = maximal(problem, asked.many)
    m, n = _grid(proof, where), asked.many
    law = asked.reference.points(m)
    audit = mapping(field(proof, "audit", where), f"the audit of {where}")
    noise = _posed(audit, asked, m, NOISE[problem.family][0], points=True)
    _about(audit, None)
    coins, single = _coins(proof, asked, m, where)
    if problem.family == "laplace":
        if not noise >= problem.size / m:
            refuse(f"{where}: its noise is more than that of the mechanism")
        rate = _ball(noise)
        kept = _ball(problem.size / m / noise) * (rate / rate.sinh()) ** coins
    else:
        deviation, tau = _ball(problem.size * m), _ball(noise)
        spread = arb(number(field(proof, "spread", where), f"the spread of {where}"))
        if not spread > 0:
            refuse(f"{where}: its spread must be above 0")
        variance = tau**2 + spread**2
        if not _covers(variance, arb(4), coins, deviation**2):
            refuse(f"{where}: its noise does not cover the steps of the grid")
        kept = variance.sqrt() / deviation / _poisson(tau * spread / variance.sqrt())
    if not asked.markov:
        _one_point(audit, where)
    _, bound = inner(audit)
    share, coin = _mixed(audit, asked, law, above=True, more=single.log())
    inside = share * arb(bound) + coin + (ONE - share) * arb(m + 1).log()
    if not asked.markov:
        inside += named.lost(audit["problem"], named.query(audit["problem"]["query"])) * arb(n * m + 1).log()
    if asked.nothing and coins < n:
        # At eta = 0 the coin is certain.
        beta = (ONE - ONE / single).nonnegative_part()
        inside = single * (inside - xlogx(beta) - xlogx(ONE / single))
    return kept * inside + _hidden(kept, most)


def _coins(proof: dict[str, Any], asked: Believed, m: int, where: str) -> tuple[int, Ball]:
    """Return how many coins round the data, and 1 + eta: one for each record, or one for the others together."""
    if "together" not in proof:
        return asked.many, ONE
    if proof["together"] is not True or asked.many < 3 or (asked.independent and not asked.exactly):  # noqa: PLR2004
        refuse(f"{where}: one coin for the others does not fit this question")
    return 2, one_coin(asked.reference, m, asked.many)


def _snapped(proof: dict[str, Any], problem: Problem, asked: Believed, inner: Inner, where: str) -> Ball:
    """A bound on what is told of a bin: records at the middles of their cells, and what moving them there costs."""
    m, n, most = _grid(proof, where), asked.many, maximal(problem, asked.many)
    law, _ = asked.reference.cells(m)
    audit = mapping(field(proof, "audit", where), f"the audit of {where}")
    noise = _posed(audit, asked, m, NOISE[problem.family][0], points=False)
    _about(audit, labels(asked, m))
    if problem.family == "laplace":
        if not noise >= problem.size / m:
            refuse(f"{where}: its noise is more than that of the mechanism")
        kept, moved = ONE, _ball(problem.size / m) * n / 2
    else:
        deviation, tau = _ball(problem.size * m), _ball(noise)
        spread = arb(number(field(proof, "spread", where), f"the spread of {where}"))
        variance = tau**2 + spread**2
        if not (spread > 0 and variance <= deviation**2):
            refuse(f"{where}: its noise is more than that of the mechanism")
        kept = variance.sqrt() / deviation / _poisson(tau * spread / variance.sqrt())
        moved = n / (2 * deviation)
    _, bound = inner(audit)
    share, coin = _mixed(audit, asked, law, above=True)
    inside = share * arb(bound) + coin + (ONE - share) * arb(m + 1).log()
    return kept * inside + _hidden(kept, most) + moved


def _about(audit: dict[str, Any], expected: list[int] | None) -> None:
    """Refuse a certificate about another secret: every record, or the function of the cells of record 0."""
    if expected is None:
        if "secret" in audit:
            refuse("the audit inside must be about every record of whole numbers")
    elif audit.get("secret") != {"records": [0], "values": expected}:
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
    return whole(field(given, "cells", where), f"cells of {where}", 1, largest().real_cells)


def _posed(audit: dict[str, Any], asked: Believed, m: int, family: str, *, points: bool) -> Fraction:
    """Return the noise of a certificate about whole numbers, in steps; refused where it is about something else."""
    if audit.get("format") != AUDIT or audit.get("form") == "real-records":
        refuse("the audit inside must be about every record of whole numbers")
    inside = mapping(field(audit, "problem", "the audit inside"), "its problem")
    if set(inside) != {"query", "mechanism"}:
        refuse("the audit inside must be about a mechanism given by its name")
    query = named.query(inside["query"])
    if query.name != "total" or query.statistic != Sum(asked.many, tuple(range(m + points))):
        refuse(f"the audit inside must be about total(n={asked.many}, values=0..{m - 1 + points}), not {query.text}")
    name, given = named.call(inside["mechanism"], named.MECHANISMS, "the mechanism")
    if name != family or given.get("output", "integer") != "integer":
        refuse(f"the audit inside must be about {family} noise, not {named.spelled(name, given)}")
    if family == "discrete_gaussian" and named.clamped(given):
        # Clamping hides something of it, as it does not of geometric and Laplace noise: see named.widened.
        refuse(f"the audit inside must be about noise that is not clamped, not {named.spelled(name, given)}")
    _same_adversary(mapping(field(audit, "adversary", "the audit inside"), "its adversary"), asked)
    if family in ("gaussian", "discrete_gaussian"):
        return positive(given["sigma"], "sigma")
    rate = named.exact_rate(given, query)
    if rate is None:
        refuse("the audit inside has a single answer")
    return rate


def _same_adversary(adversary: dict[str, Any], asked: Believed) -> None:
    """Refuse another kind of adversary; its knowledge and its law are compared in `_mixed`."""
    if ("independent" in adversary) != asked.independent or ("knowledge" in adversary) != (asked.knowledge is not None):
        refuse("the audit inside is about another adversary")
    follows = asked.knowledge is not None or asked.exactly
    if ("reference" in adversary) != follows:
        refuse("the audit inside counts from another law")


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
            enough = k >= asked.knowledge + asked.many * _ball(max(ratios)).log() + more
        else:
            enough = k <= asked.knowledge + asked.many * _ball(min(ratios)).log()
        if not enough:
            refuse("the knowledge inside does not make up for the rounding of its law")
        return ONE, ZERO
    if asked.knowledge is not None and number(adversary["knowledge"], "the knowledge inside") != 0:
        refuse("the adversary inside knows something, but this one knows nothing")
    share = _ball(min(ratios)) ** asked.many
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
            if _counts_values(mapping(step, "a step inside")):
                refuse(f"{where}: steps that use log|A| are about records on a grid, not about real-valued ones")
        if kind not in ONE_POINT and not leaf:
            refuse(f"{where}: a proof by {show(kind)} is about records on a grid, not about real-valued ones")


def _counts_values(step: dict[str, Any]) -> bool:
    """Whether a step uses the values of the grid: all do but points between and beyond which no value is told."""
    if step.get("step") != "points":
        return True
    return "told" in step or ("order" not in step and step.get("every") != 1)


def _ball(value: Fraction | int) -> Ball:
    exact = Fraction(value)
    return arb(exact.numerator) / exact.denominator
