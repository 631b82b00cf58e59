"""A release of a sum beside local randomisers ("beside"): one bit among bits that each go through a channel W as well.

Under the reference the n records are independent bits of one law rho; A is one of them, S the sum of the others, C the
release, whose row depends on A + S. With eta, u, sigma and D_a as in special/product.py, 0 < mu <= 1 - sigma, rho_j the
law of S given that j of the others' outputs are 1, P(j) its chance, any positive laws r_j0, r_j1 of C and numbers h_a,

    g_aj = D_a + max_w { sum_y W(y|a) D(w C_a || r_jy) - mu D(w || rho_j) },       lam = mu + eta (1 - sigma - mu),
    I(A;Y) <= lam K + tau log sum_a u_a^(sigma/tau) rho(a)^(lam/tau) e^(h_a/tau)
              + (1-sigma) log sum_j P(j) exp( max_a (g_aj - h_a) / (1-sigma) ),    tau = sigma + lam.

The maximum over w is that of chains.py, with log r replaced by sum_y W(y|a) log r_jy. W and C are as the proof states
them, C repaired to be exactly monotone; what the channel is off their product costs lost log 2 (Lemma R). Proof:
docs/mathematics.md, 4.12, "Beside a release".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any

from flint import arb

from dalenius.verifier.forms.reference import Product
from dalenius.verifier.forms.written import Asked
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, Rows, divergence, log_sum_exp, mixed, precision
from dalenius.verifier.kernel.cells import law_of
from dalenius.verifier.kernel.chains import OneValue
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.order import never_falling
from dalenius.verifier.kernel.reading import field, number, numbers, refuse, sequence, whole

from .product import contracts, expands

Law = Sequence[Ball]
BITS = 2


@dataclass(frozen=True)
class Parts:
    """W, and the rows of C for the sums 0..n, exactly monotone.

    Guarantee: every row of the channel is at least (1 - lost) times that of their product.
    """

    local: list[list[Ball]]
    release: list[list[Ball]]
    lost: Ball


def bound(asked: Asked, proof: dict[str, Any], where: str) -> Ball:
    """Return the bound."""
    law, n = _law(asked), asked.channel.statistic.n
    parts = _parts(asked, proof, where)
    local, release = parts.local, parts.release
    sigma = arb(number(field(proof, "sigma", where), "sigma", 0.0))
    eta = arb(number(field(proof, "eta", where), "eta", 0.0))
    mu = arb(number(field(proof, "mu", where), "mu"))
    u = law_of(field(proof, "law", where), BITS, "'law'", positive=True)
    if not (sigma < 1 and mu > 0 and mu <= 1 - sigma):
        refuse("sigma must be below 1, and mu above 0 and at most 1 - sigma")
    if not contracts(local, law, eta, even=False, response=False):
        refuse(f"the channel of a record is not shown to contract divergence by eta = {float(eta)!r}")
    if not expands(local, u, sigma, even=False, response=False):
        refuse(f"the channel of the secret is not shown to keep sigma = {float(sigma)!r} of a divergence")
    rounds = whole(field(proof, "rounds", where), "rounds", 0, largest().chain_rounds)
    heights = [arb(h) for h in numbers(field(proof, "heights", where), BITS, "'heights'")]
    told = [divergence(row, mixed(u, local)) for row in local]
    one, gains = mixed(law, local)[1], []
    for j, given in enumerate(sequence(field(proof, "laws", where), "'laws'", n)):
        logs = []
        for stated in sequence(given, "laws of C", BITS):
            listed = list(map(arb, numbers(stated, len(release[0]), "a law of C")))
            # It is given up to a factor.
            total = log_sum_exp(listed)
            logs.append([x - total for x in listed])
        rho = _sum_given(law, local, j, n - 1)
        most = []
        for a in range(BITS):
            tick()
            rows = release[a : a + n]
            # At least max_w { sum_y W(y|a) D(w C_a || r_jy) - mu D(w || rho_j) }.
            gain = OneValue(Rows(rows), rho, mixed(local[a], logs), mu).bound(rounds)
            most.append(gain + told[a] - heights[a])
        chance = comb(n - 1, j) * one**j * (1 - one) ** (n - 1 - j)
        gains.append(chance.log() + most[0].max(most[1]) / (1 - sigma))
    lam = mu + eta * (1 - sigma - mu)
    own = (sigma * x.log() + lam * p.log() + h for x, p, h in zip(u, law, heights, strict=True))
    upper = close(own, lam, asked.knowledge.most, theta=sigma) + (1 - sigma) * log_sum_exp(gains)
    return upper + parts.lost * arb(2).log()


def _parts(asked: Asked, proof: dict[str, Any], where: str) -> Parts:
    """Both parts as the proof states them; the last are remembered, for all records have the same."""
    local, release, first = given = [field(proof, key, where) for key in ("local", "release", "first")]
    stated, found = asked.channel.known.get("beside", (None, None))
    if isinstance(found, Parts) and stated == given:
        return found
    n = asked.channel.statistic.n
    if type(first) is not bool:
        refuse("'first' must be true or false")
    with precision():
        each = [law_of(row, BITS, "a row of 'local'", positive=True) for row in sequence(local, "'local'", BITS)]
        rows = sequence(release, "'release'", n + 1)
        width = len(sequence(rows[0], "a row of 'release'"))
        if BITS**n * width != asked.channel.outputs:
            refuse("'local' and 'release' do not make the outputs of the channel")
        laws = [law_of(row, width, "a row of 'release'", positive=True) for row in rows]
        ordered = never_falling(laws, range(n + 1), "'release'")
        parts = Parts(each, ordered, _lost(asked, each, ordered, first=first))
    asked.channel.known["beside"] = given, parts
    return parts


def _law(asked: Asked) -> list[Ball]:
    """The law of every record: positive, the same for all, which are bits; the secret is one of them."""
    statistic, secret = asked.channel.statistic, asked.secret
    if secret.labels or len(secret.records) != 1:
        refuse("it is about one record")
    if statistic.n < BITS or any(statistic.alphabet(i) != BITS for i in range(statistic.n)):
        refuse("it is for two records or more, all of them bits")
    reference = asked.reference
    if not isinstance(reference, Product) or not reference.common:
        refuse("it is for independent records of one law")
    law = reference.law(0, BITS)
    if not all(p > 0 for p in law):
        refuse("every value of a record must have a probability above 0")
    return law


def _lost(asked: Asked, local: list[list[Ball]], release: list[list[Ball]], *, first: bool) -> Ball:
    """The share of the product that is not in the channel, at most.

    first: whether the outputs of the release come first, that is change slowest; among the local ones record 0's do.
    """
    channel, lost = asked.channel, ZERO
    for x, t in zip(product(range(BITS), repeat=channel.statistic.n), channel.statistic.datasets(), strict=True):
        tick()
        outputs = [ONE]
        for bit in x:
            outputs = [p * q for p in outputs for q in local[bit]]
        own = release[sum(x)]
        made = [c * w for c in own for w in outputs] if first else [w * c for w in outputs for c in own]
        for q, p in zip(channel.rows[channel.row_of[t]], made, strict=True):
            if not (less := 1 - q / p) <= lost:
                lost = lost.max(less)
    if not lost < 1:
        refuse("'local' and 'release' are not what the channel is made of")
    return lost.upper()


def _sum_given(law: Law, local: list[list[Ball]], ones: int, others: int) -> list[Ball]:
    """The law of the sum of the others under the reference, given that so many of their outputs are 1."""
    found = [ONE]
    for i in range(others):
        y = 1 if i < ones else 0
        chance = law[1] * local[1][y] / (law[0] * local[0][y] + law[1] * local[1][y])
        found = [x * (1 - chance) + z * chance for x, z in zip([*found, ZERO], [ZERO, *found], strict=True)]
    return found
