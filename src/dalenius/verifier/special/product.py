"""Local randomisers: "product" and "looks". Every record goes through its own channel, and all outputs are released.

Records are independent under the reference, with laws rho_i, and record i has the channel W_i to its own output. The
secret A is one record or a group; W_0 is its channel, rho_0 its law.

"product". Let eta be at least D(w W_i || rho_i W_i) / D(w || rho_i) for all laws w and all other records i, let u be a
law with u_a > 0 for all a, sigma at most D(v W_0 || u W_0) / D(v || u) for all laws v, and D_a = D(W_0(.|a) || u W_0).
For lam >= (1-sigma) eta and tau = sigma + lam > 0 every prior pi with D(pi || rho) <= K has
    I(A;Y) <= lam K + tau log sum_a u_a^(sigma/tau) rho_0(a)^(lam/tau) e^(D_a/tau).
"looks". For a symmetric channel on bits and one record as the secret, no prior leaks more than the capacity of n looks
at one bit. Proofs: docs/mathematics.md, 4.12; of the coefficients: docs/proofs/local-randomisers.md, 1 to 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_poly

from dalenius.verifier.forms.counting import binomial
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, divergence, mixed, xlogx
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.contraction import contracts as every_pair_contracts
from dalenius.verifier.kernel.limits import tick, ticking

Row = Sequence[Ball]
# Halvings of an interval, and intervals, before an inequality counts as not shown.
DEEPEST = 60
MOST_INTERVALS = 20_000


def product_bound(rows: Sequence[Row], rho: Row, law: Row, *, knowledge: Ball, sigma: Ball, lam: Ball) -> Ball:
    """lam K + tau log sum_a u_a^(sigma/tau) rho_0(a)^(lam/tau) e^(D_a/tau), tau = sigma + lam above 0."""
    out, each = mixed(law, rows), ticking(zip(law, rho, rows, strict=True))
    exponents = (sigma * u.log() + lam * p.log() + divergence(row, out) for u, p, row in each if not p.is_zero())
    return close(exponents, lam, knowledge, theta=sigma)


def looks(n: int, flip: Ball) -> Ball:
    """log 2 - sum_j P(j) log(1 + P(n-j)/P(j)), P(j) = C(n,j) (1-f)^j f^(n-j): ratios P(n-j)/P(j) = (f/(1-f))^(2j-n)."""
    odds = (1 - flip).log() - flip.log()
    law = binomial(n, flip, 1 - flip, range(n + 1)).masses
    return arb(2).log() - sum((p * (ONE + (odds * (n - 2 * j)).exp()).log() for j, p in ticking(enumerate(law))), ZERO)


def contracts(rows: Sequence[Row], law: Row, eta: Ball, *, even: bool, response: bool) -> bool:
    """Guarantee: if true, D(w W || law W) <= eta D(w || law) for every law w of a record.

    Bits and, at the uniform law (even), randomised response (response: W = c I + (1-c) U) in one variable; else over
    all pairs of laws, as contraction.py does.
    """
    if eta >= 1:
        return True
    if len(rows) == len(rows[0]) == 2 and not any(x.is_zero() for x in law):  # two values, two outputs
        return _bits_contract(rows, law, eta)
    if even and response:
        k, c = len(rows), rows[0][0] - rows[0][1]
        # At w = (v, u, .., u) with v >= 1/k (3).
        return bool(0 <= c <= eta) or _responses_hold(rows, eta, 1, k - 1, (ONE / k, ONE))
    return every_pair_contracts(rows, eta)


def expands(rows: Sequence[Row], law: Row, sigma: Ball, *, even: bool, response: bool) -> bool:
    """Guarantee: if true, D(v W || law W) >= sigma D(v || law) for every law v of a record; the law is positive."""
    if sigma <= 0:
        return True
    if len(rows) == len(rows[0]) == 2:  # two values, two outputs
        # G(x) = D(c(x) || c(u)) - sigma D(x || u) on [0,1]: where G'' > 0 at u, the ends decide (2).
        f, d, u = rows[0][1], rows[1][1] - rows[0][1], law[1]
        out = f + d * u
        if not (sigma < 1 and d**2 * u * (1 - u) > sigma * out * (1 - out)):
            return False
        return all(_binary(f + d * x, out) >= sigma * _binary(x, u) for x in (ZERO, ONE))
    if not (even and response and sigma < rows[0][0] - rows[0][1]):
        return False
    # At v = (u, .., u, v, 0, .., 0), j entries u >= v (4).
    return all(_responses_hold(rows, sigma, -1, j, (ZERO, ONE / (j + 1))) for j in range(1, len(rows)))


def _bits_contract(rows: Sequence[Row], law: Row, eta: Ball) -> bool:
    """F(x) = eta D(x || rho) - D(c(x) || c(rho)) >= 0 on [0,1] (1), x the chance of 1, c(x) = f + d x of output 1."""
    f, d, rho = rows[0][1], rows[1][1] - rows[0][1], law[1]
    out = f + d * rho

    def value(x: Ball) -> Ball:
        return eta * _binary(x, rho) - _binary(f + d * x, out)

    def slope(x: Ball) -> Ball:
        c = f + d * x
        return eta * (x * (1 - rho) / ((1 - x) * rho)).log() - d * (c * (1 - out) / ((1 - c) * out)).log()

    c = arb_poly([f, d])
    curve = eta * c * (1 - c) - d**2 * arb_poly([0, 1, -1])
    return _never_negative(Smooth(value, slope, curve), rho, ZERO, ONE)


def _responses_hold(rows: Sequence[Row], lam: Ball, sign: int, j: int, between: tuple[Ball, Ball]) -> bool:
    """F = sign ( lam D(w || U) - D(wW || U) ) >= 0 for W = c I + (1-c) U on k values, v in an interval.

    w has one entry v and j entries u = (1-v)/j. With j = k-1 and v = 1/k it is U itself.
    """
    k, c = len(rows), rows[0][0] - rows[0][1]
    b = (1 - c) / k

    def single(x: Ball) -> Ball:
        return sign * (lam * xlogx(k * x) - xlogx(k * (c * x + b))) / k

    def slope(x: Ball) -> Ball:
        return sign * (lam * ((k * x).log() + 1) - c * ((k * (c * x + b)).log() + 1))

    def factor(x: Ball) -> Ball:
        return sign * (lam * (c * x + b) - c**2 * x)

    v = arb_poly([0, 1])
    u = (1 - v) * (ONE / j)
    # F'' times j v (cv+b) u (cu+b), which is positive inside.
    curve = j * factor(v) * u * (c * u + b) + factor(u) * v * (c * v + b)
    f = Smooth(
        lambda x: single(x) + j * single((1 - x) / j) + (k - 1 - j) * single(ZERO),
        lambda x: slope(x) - slope((1 - x) / j),
        curve,
    )
    return _never_negative(f, ONE / k if j == k - 1 else None, *between)


def _binary(x: Ball, p: Ball) -> Ball:
    """D(x || p) of two laws on bits, p inside (0,1)."""
    return divergence((x, 1 - x), (p, 1 - p))


@dataclass(frozen=True)
class Smooth:
    """A function F of one variable: F and F' at points or balls, and a polynomial with the sign of F'' inside."""

    value: Callable[[Ball], Ball]
    slope: Callable[[Ball], Ball]
    curve: Ball


def _never_negative(f: Smooth, flat: Ball | None, low: Ball, high: Ball) -> bool:
    """Guarantee: if true, F >= 0 on [low, high] (5); flat: a point of it where F = F' = 0."""
    low, high = low.lower(), high.upper()
    waiting = [(low, high)]
    if flat is not None:
        near = _convex_around(f.curve, flat, low, high)
        if near is None:
            return False
        waiting = [(a, b) for a, b in ((low, near[0]), (near[1], high)) if a < b]
    seen, narrowest = 0, (high - low) / arb(2) ** DEEPEST
    while waiting:
        tick()
        a, b = waiting.pop()
        seen += 1
        if _settled(f, a, b):
            continue
        if seen > MOST_INTERVALS or not b - a > narrowest:
            return False
        middle = ((a + b) / 2).mid()
        waiting += [(a, middle), (middle, b)]
    return True


def _convex_around(curve: Ball, flat: Ball, low: Ball, high: Ball) -> tuple[Ball, Ball] | None:
    """An interval of [low, high] that surely holds the point, and on which the polynomial is positive."""
    width = (high - low) / 2
    for _ in range(DEEPEST):
        a, b = max(low, (flat - width).lower()), min(high, (flat + width).upper())
        if _range(curve, a, b) > 0:
            return a, b
        width /= 2
    return None


def _settled(f: Smooth, a: Ball, b: Ball) -> bool:
    (middle, half), sign = _middle(a, b), _range(f.curve, a, b)
    if sign > 0:
        if f.value(a) >= 0 and f.slope(a) >= 0:
            return True
        if f.value(b) >= 0 and f.slope(b) <= 0:
            return True
        return bool(f.value(middle) - abs(f.slope(middle)) * half >= 0)
    if sign < 0:
        return bool(f.value(a) >= 0 and f.value(b) >= 0)
    return bool(f.value(middle) - abs(f.slope(a.union(b).union(middle))) * half >= 0)


def _middle(a: Ball, b: Ball) -> tuple[Ball, Ball]:
    """A number near the middle of [a, b], which may be rounded, and the most that the ends are away from it."""
    middle = ((a + b) / 2).mid()
    return middle, (b - middle).upper().max((middle - a).upper())


def _range(polynomial: Ball, a: Ball, b: Ball) -> Ball:
    """A ball that holds the polynomial on [a, b], by its Taylor series near the middle."""
    middle, half = _middle(a, b)
    total, step, p = polynomial(middle), ONE, polynomial
    for k in range(1, polynomial.degree() + 1):
        p, step = p.derivative(), step * half / k
        total += arb(0, 1) * (abs(p(middle)) * step).upper()
    return total
