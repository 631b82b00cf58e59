"""Lower bounds of histograms with noise on every count: priors that tie every value to its own count (MATH 3.1).

pi(a,t) = rho(a,t) F(t_a) / Z for the count vector t, all k values alike. For every guess v(a|y) of the secret from the
noisy counts I(A;Y) >= log k + E log v(A|Y), and v(a|y) = E(y_a) / S, S = sum_b E(y_b), is nearly the posterior when E
is the ratio of the own count's noisy law to that of another count, or a power of it near 1. E log S needs the law of a
sum over all counts:

    log x <= C - c sum_j exp(-u_j x),       E exp(-u S | t_a) = phi(t_a) [x^(n - t_a)] ( sum_t phi(t) x^t / t! )^(k-1)

up to a constant, with phi(t) = E exp(-u E(t + noise)): one power of a polynomial for each u.

Where the secret is a function of the record that c values have each, its values take the place of those of the record:
t_a is how many records have a, and y_a a score of the noisy counts of its c values, each of which adds how many of some
numbers it reaches. Given t_a these counts are multinomial, and the score has a law that is a coefficient of a power.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dalenius.model.channels.noise import clamped
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.counted import Decoder, OtherCounts, TiedPrior, last_powers, log_poisson
from dalenius.model.counting import log_binomial
from dalenius.model.reference import Reference
from dalenius.model.secret import Secret
from dalenius.numerics.information import logsumexp
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part

# Counts that add up to n go against each other, so that a power of the ratio of laws may be the better guess: its
# first change, downwards; it is halved and turned round whenever it gains nothing.
POWER_STEP = 0.1
# Whole weights of the guess: around UNIT, where 128 gained at most 1e-3 more; at most MOST_WEIGHT, as sums of k of
# them are gone through.
UNIT = 24
MOST_WEIGHT = 4000
# Outputs beyond which the noise has no more than UNSEEN are left out; products of a count and an output, at most.
# Outputs less likely than RARE take the weight of the next one.
UNSEEN = 1e-13
ENTRIES = 2**22
RARE = 1e-13
# log x as a sum of exponentials exp(-u x): step of log u, and u x at both ends; they cost 1e-5 together.
STEP = 0.8
LEFT = 1e-5
RIGHT = 16.0
# Multipliers between which the one that uses all knowledge is found, and the number of bisections.
S_RANGE = (1e-3, 1e9)
BISECTIONS = 60
# Shares of the others' tilt that are tried.
SHARES = (1.0, 0.7, 0.4)
# What rounding may reach in the bound, and in a product of transforms, whose least total is the next number.
MARGIN = 1e-9
ROUNDING = 2e-15
LEAST_TOTAL = 1e-11
# Classes this many nats below the likeliest one: which order they are taken with changes nothing that is printed.
RARE_NATS = 80.0
# Products of laws of the score of a noisy count, at most.
SCORE_TERMS = 2**28


@dataclass(frozen=True, kw_only=True)
class TiedSearch(Part):
    """Priors that tie every value to its own count."""

    # Turns of tilt and guess: on seven tables of 20 to 2,000 records eight of them came within 1e-3 of what twelve
    # found, four within 4e-3.
    rounds: int = 8
    # Counts that are added up: standard deviations to either side, and this many above in any case.
    spreads: float = 12.0
    least: int = 30
    # Rounds at each share of the others' tilt.
    few_rounds: int = 4
    # Levels of the score of a noisy count, where the secret is a function of the record.
    levels: int = 9


# Nats: tilts of all counts together that floats can hold.
TALLEST = 600.0


@dataclass(frozen=True, eq=False)
class Tied:
    """The law of the own count, t = 0..n, a guess from the noisy counts, and what it tells at least."""

    law: Floats
    decoder: Decoder
    lower: float
    # log tilts of the others' counts in the decoder's window, if there are any.
    tilt: tuple[float, ...] = ()

    def prior(self, mechanism: NoisyCounts, about: Secret, reference: Reference) -> TiedPrior:
        """Return the prior that ties every value to this law."""
        return TiedPrior.of_counts(
            mechanism, about, self.law, decoder=self.decoder, leaked=self.lower, tilt=self.tilt, reference=reference
        )


@dataclass(frozen=True, eq=False)
class _Table:
    """Counts that matter: `t` of them, log rho(t|a) of the own count, rows of the noise on `outputs`."""

    n: int
    k: int
    t: Ints
    log_own: Floats
    outputs: Ints
    rows: Floats
    # The others' counts, where they are tilted; t is their window.
    others: OtherCounts | None = None
    # What noisy counts reach for their scores, where the secret is a function of the record.
    scores: tuple[int, ...] = ()


def tie(
    mechanism: NoisyCounts, knowledge: float, deadline: Deadline, settings: TiedSearch, *, together: int = 1
) -> Tied | None:
    """Search for the best F and E in turns; None where the counts that matter are too many.

    together: how many values of the record have the same value of the secret.
    F(t) = exp( ( E[ log E(Y_a) | t ] - E[ log S | t ] ) / s ), s such that all knowledge is used.
    """
    table = _table(mechanism, knowledge, settings, together)
    if table is None:
        return None
    return _in_turns(table, table.t / math.sqrt(table.n / table.k), knowledge, settings.rounds, deadline)


def tie_others(
    mechanism: NoisyCounts,
    knowledge: float,
    scores: tuple[Floats, Floats],
    deadline: Deadline,
    settings: TiedSearch,
) -> Tied | None:
    """Tilt the others' counts too, by shares of the second score, t = 0..n; the own by the first, then as in `tie`."""
    table = _table(mechanism, knowledge, settings)
    if table is None or knowledge == 0 or not settings.rounds:
        return None
    best: Tied | None = None
    tallest = TALLEST / table.k
    own, tilt = (part[table.t] - part[round(table.n / table.k)] for part in scores)
    for share in SHARES:
        others = OtherCounts(table.n, table.k, int(table.t[0]), np.clip(share * tilt, -tallest, tallest))
        found = _in_turns(replace(table, others=others), own, knowledge, settings.few_rounds, deadline)
        if found is not None and (best is None or found.lower > best.lower):
            best = found
    return best


def _in_turns(table: _Table, score: Floats, knowledge: float, rounds: int, deadline: Deadline) -> Tied | None:
    """Tilt the own count by a score, guess, and tilt by the score of the guess; None where no tilt is allowed."""
    best: Tied | None = None
    power = trial = 1.0
    step = -POWER_STEP
    for _ in range(rounds):
        law = _tilted(table, score, knowledge)
        if law is None or (best is not None and deadline.expired()):
            break
        found, score = _guess(table, law, trial)
        if best is None or found.lower > best.lower:
            best, power = found, trial
        else:
            step *= -0.5
        trial = power + step
    return best


def _table(mechanism: NoisyCounts, knowledge: float, settings: TiedSearch, together: int = 1) -> _Table | None:
    n, k = mechanism.n, mechanism.k // together
    if k == 1:
        return None
    mean, spread = n / k, math.sqrt(n / k)
    low = max(0, math.floor(mean - settings.spreads * spread))
    # Knowledge moves the own count up, by some sqrt(2 K) standard deviations.
    high = math.ceil(mean + (settings.spreads + 2 * math.sqrt(2 * knowledge)) * spread + settings.least)
    t = np.arange(low, min(high, n) + 1)
    reach = mechanism.cell(0).reach(UNSEEN)
    outputs = np.arange(max(0, low - reach), min(n, high + reach) + 1)
    if t.size * outputs.size > ENTRIES or (knowledge == 0 and t.size <= n):
        return None
    log_own = np.append(-np.inf, log_binomial(n - 1, (1 - 1 / k, 1 / k)))[t]
    if together > 1:
        scores = _scores(mechanism, settings)
        wide = together * len(scores) + 1
        if not scores or together * len(scores) * wide * (int(t[-1]) + 1) ** 2 > SCORE_TERMS:
            return None
        rows = _scored(mechanism, together, scores, int(t[-1]))[t]
        return _Table(n, k, t, log_own, np.arange(wide), rows, scores=scores)
    rows = clamped(mechanism.noise, t[:, None].astype(float), outputs.astype(float))
    return _Table(n, k, t, log_own, outputs, rows)


def _scores(mechanism: NoisyCounts, settings: TiedSearch) -> tuple[int, ...]:
    """Where the mean count, given the noisy one, passes from one of some levels to the next."""
    n, k = mechanism.n, mechanism.k
    t = np.arange(n + 1.0)
    both = np.exp(log_binomial(n, (1 - 1 / k, 1 / k)))[:, None] * clamped(mechanism.noise, t[:, None], t)
    mean = (t @ both) / np.maximum(both.sum(axis=0), 1e-300)
    sure = both.sum(axis=0) > RARE
    low, high = mean[sure].min(), mean[sure].max()
    level = np.rint((np.clip(mean, low, high) - low) / max(high - low, 1e-300) * (settings.levels - 1))
    rising = np.maximum.accumulate(np.where(sure, level, 0))
    return tuple((np.flatnonzero(np.diff(rising)) + 1).tolist())


def _scored(mechanism: NoisyCounts, together: int, scores: tuple[int, ...], most: int) -> Floats:
    """P(score | t records have one of `together` values), t = 0..most: by laws of Poisson counts."""
    n, mean = mechanism.n, mechanism.n / mechanism.k
    t = np.arange(most + 1)
    rows = np.add.reduceat(clamped(mechanism.noise, t[:, None].astype(float), np.arange(n + 1.0)), (0, *scores), axis=1)
    one = np.exp(log_poisson(t, mean))[:, None] * rows
    whole = one
    for _ in range(together - 1):
        more = np.zeros((most + 1, whole.shape[1] + len(scores)))
        for level, column in enumerate(one.T):
            for count, weight in enumerate(column.tolist()):
                more[count:, level : level + whole.shape[1]] += weight * whole[: most + 1 - count]
        whole = more
    return np.asarray(whole / np.exp(log_poisson(t, together * mean))[:, None])


def _tilted(table: _Table, score: Floats, knowledge: float) -> Floats | None:
    """rho(t|a) exp( score / s ), normalised, with the least s at which it is within the knowledge; None without any.

    What the others' tilts cost and leave is counted with the own count that they go with.
    """
    log_own, cost = table.log_own, np.zeros(table.t.size)
    if table.others is not None:
        possible = np.isfinite(log_own) & table.others.possible(table.t)
        log_own = np.where(possible, log_own, -np.inf)
        cost[possible] = table.others.divergence(table.t[possible])
        score = np.where(possible, score, 0.0)
        if not possible.any():
            return None
    reference = np.exp(np.where(np.isfinite(log_own), log_own, -np.inf))

    def law(s: float) -> tuple[Floats, float]:
        log_law = log_own + score / s
        log_law -= logsumexp(log_law)
        w = np.where(log_law > -RARE_NATS, np.exp(log_law), 0.0)
        w /= w.sum()
        kept = w > 0
        return w, float(w[kept] @ (np.log(w[kept]) - log_own[kept] + cost[kept]))

    if knowledge == 0:
        return reference
    # Rounding of the divergence must not reach above the knowledge.
    most = knowledge * (1 - 1e-9) - 2e-14
    low, high = S_RANGE
    for _ in range(BISECTIONS):
        s = math.sqrt(low * high)
        low, high = (s, high) if law(s)[1] > most else (low, s)
    found, used = law(high)
    if used <= most:
        return found
    # Others that are tilted this much leave no own count anything to know.
    return None if table.others is not None else reference


def _guess(table: _Table, law: Floats, power: float) -> tuple[Tied, Floats]:
    """The guess that fits a law of the own count; and the score of every own count, by which to tilt next."""
    weights = _weights(table, law, power)
    n, k, unit = table.n, table.k, np.unique(weights)
    x = np.arange(k * int(unit[0]), k * int(unit[-1]) + 1, dtype=float)
    first, last = math.log(LEFT / x[-1]), math.log(RIGHT / x[0])
    nodes = np.exp(np.arange(first, last + STEP, STEP))
    most = np.log(x)
    for u in nodes.tolist():
        most = most + STEP * np.exp(-u * x)
    top = float(most.max())
    phi = table.rows @ np.exp(-np.multiply.outer(weights.astype(float), nodes))
    with np.errstate(over="ignore", divide="ignore"):
        seen = phi * _others(table, phi)
    log_s = top - STEP * seen.sum(axis=1)
    score = table.rows @ np.log(weights) - log_s
    lower = math.log(k) + float(law @ score) - MARGIN
    cuts = np.flatnonzero(np.diff(weights)) + 1
    whole = np.zeros(n + 1)
    whole[table.t] = law
    decoder = Decoder(
        tuple(table.outputs[cuts].tolist()),
        tuple(weights[np.append(0, cuts)].tolist()),
        (int(table.t[0]), int(table.t[-1])),
        tuple(nodes.tolist()),
        STEP,
        table.scores,
    )
    tilt = () if table.others is None else tuple(table.others.tilt.tolist())
    return Tied(whole, decoder, lower, tilt), np.where(np.isfinite(table.log_own), score, 0.0)


def _weights(table: _Table, law: Floats, power: float) -> Ints:
    """Whole numbers near a power of the ratio of the own count's noisy law to that of another count."""
    n, k = table.n, table.k
    if table.others is None:
        # What the own count has more of, the others have less of.
        other = max(0.0, n - float(law @ table.t)) / (n * (k - 1))
        base = np.exp(log_binomial(n, (1 - other, other))[table.t]) @ table.rows
    else:
        kept = law > 0
        base = table.others.marginal(table.t[kept], law[kept]) @ table.rows
    ratio = power * np.log(np.maximum(law @ table.rows, 1e-300) / np.maximum(base, 1e-300))
    # Far from all mass rounding decides, and the nearest ratio that can be trusted stands for the rest.
    sure = np.flatnonzero(base > RARE)
    ratio[: sure[0]], ratio[sure[-1] :] = ratio[sure[0]], ratio[sure[-1]]
    most = math.log(MOST_WEIGHT / UNIT)
    whole: Ints = np.maximum(np.rint(UNIT * np.exp(np.minimum(ratio, most))), 1).astype(np.int64)
    return whole


def _others(table: _Table, phi: Floats) -> Floats:
    """E prod_b phi(t_b) over the other k-1 counts, given each own count t: they are multinomial with n - t records."""
    n, k, t = table.n, table.k, table.t
    place = n - t - (k - 1) * int(t[0])
    inside = (place >= 0) & (place < (k - 1) * (t.size - 1) + 1)
    result = np.zeros_like(phi)
    if table.others is not None:
        possible = inside & table.others.possible(t)
        for j, column in enumerate(phi.T):
            products = last_powers(table.others.weights * column, k - 1)[1]
            result[possible, j] = products[place[possible]] / table.others.powers[-1][place[possible]]
        return np.minimum(result, 1.0)
    mean = n / k
    powers = np.fft.rfft(np.exp(log_poisson(t, mean))[:, None] * phi, n=_room((k - 1) * (t.size - 1) + 1), axis=0) ** (
        k - 1
    )
    products = np.maximum(np.fft.irfft(powers, n=_room((k - 1) * (t.size - 1) + 1), axis=0), 0.0)
    total = np.exp(log_poisson(n - t, (k - 1) * mean))
    # Transforms are good to some 1e-16 of the largest product, which weighs where totals are rare.
    possible = inside & (total > LEAST_TOTAL)
    sure = np.maximum(products[place[possible]] - ROUNDING, 0.0)
    result[possible] = np.minimum(sure / total[possible, None], 1.0)
    return result


def _room(length: int) -> int:
    return 1 << (length - 1).bit_length()
