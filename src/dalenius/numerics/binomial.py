"""Lower limits of a probability from counts: Clopper's and Pearson's, by a closed bound on the binomial tail."""

import numpy as np

from dalenius.numerics.information import gammaln
from dalenius.numerics.types import Floats, Ints

# Terms of the tail that are added before the rest is bounded by a geometric series. With 64 a limit is farther from the
# observed share than the exact one by at most 0.3 % of that distance (measured at 10 to 10^7 draws). The verifier adds
# as many.
TERMS = 64
# By which the logarithm of the tail stays below what is allowed, so that balls confirm it: gammaln of 10^8 is good to
# some 1e-7.
ROOM = 1e-6
# Halvings of the interval in which the logarithm of a limit is searched; counts that are searched at a time.
STEPS = 60
BATCH = 4096


def log_tail(draws: Floats, counts: Floats, p: Floats) -> Floats:
    """Guarantee, up to rounding: result >= log P(Bin(draws, p) >= counts), where counts >= draws p and 0 < p < 1.

    P(C = c + j + 1) / P(C = c + j) = (n-c-j)/(c+j+1) p/(1-p), which falls with j, so that behind the last term that is
    added a geometric series is above what is left.
    """
    n, c, j = draws, counts, np.arange(TERMS + 1)
    log_mass = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) + c * np.log(p) + (n - c) * np.log1p(-p)
    ratios = np.maximum((n - c)[:, None] - j, 0.0) / (c[:, None] + j + 1) * (p / (1 - p))[:, None]
    terms = np.cumprod(ratios[:, :-1], axis=1)
    return np.asarray(log_mass + np.log(1 + terms[:, :-1].sum(axis=1) + terms[:, -1] / (1 - ratios[:, -1])))


def lower_limits(draws: Ints, counts: Ints, error: float) -> Floats:
    """Return p with P(Bin(draws, p) >= counts) <= error for each count, nearly the largest; 0 where nothing was seen.

    The probability behind a count is below its limit with a chance of at most `error` [clopper34].
    """
    pairs = np.stack(np.broadcast_arrays(draws, counts), axis=-1)
    distinct, place = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    limits = np.zeros(len(distinct))
    seen = np.flatnonzero(distinct[:, 1] > 0)
    for part in np.split(seen, range(BATCH, seen.size, BATCH)):
        n, c = distinct[part].astype(float).T
        limits[part] = _limits(n, c, float(np.log(error)) - ROOM)
    return np.asarray(limits[place].reshape(pairs.shape[:-1]))


def _limits(n: Floats, c: Floats, most: float) -> Floats:
    # At e^low the tail is surely small: it is at most C(n,c) p^c.
    high = np.log(c / n) - 1e-12
    low = np.minimum(high, (most - (gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1))) / c) - 2 / c
    for _ in range(STEPS):
        middle = (low + high) / 2
        fits = log_tail(n, c, np.exp(middle)) <= most
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.asarray(np.exp(low) * (1 - 1e-12))
