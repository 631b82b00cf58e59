"""Sums over runs of consecutive values, from running sums: a witness on blocks without a term for every class.

The answer is the sum itself, f = k + c with k the sum of the other records, whose law is x_k, and c what a value of the
secret adds. Inside a block the prior is a multiple of x_(f-c). Between two borders, of blocks or of cuts, all that
noise of the rate lambda asks for are the sums of

    x_k,    x_k exp(lambda k),    x_k exp(-lambda k)

over a run of k, which are differences of running sums. They are taken from the left up to the greatest term and from
the right beyond it, so that little is lost by the difference; whatever is lost, balls say so.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import mul

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import tick, ticking


class Running:
    """Sums of terms over runs of neighbours."""

    def __init__(self, terms: Sequence[Ball]) -> None:
        """Take terms above 0; the place from which on sums go the other way is the greatest one, but any will do."""
        logs = [float(x.log()) for x in ticking(terms)]
        self.many, self.top = len(terms), logs.index(max(logs))
        self._up = list(accumulate(terms[: self.top], initial=ZERO))
        self._down = list(accumulate(reversed(terms[self.top :]), initial=ZERO))

    def over(self, i: int, j: int) -> Ball:
        """The sum of the terms i..j-1; those that there are not count as 0."""
        i, j = max(i, 0), min(j, self.many)
        if i >= j:
            return ZERO
        if j <= self.top:
            return self._up[j] - self._up[i]
        # The last sum on the way down is that of all terms from the top on.
        if i >= self.top:
            return self._down[self.many - i] - self._down[self.many - j]
        return self._up[-1] - self._up[i] + self._down[-1] - self._down[self.many - j]


class Runs:
    """The chances of falling below cuts, for noise with P(noise >= k) = tail exp( -rate (k - 1) ) for k >= 1."""

    def __init__(self, first: int, law: Sequence[Ball], rate: Ball, tail: Ball) -> None:
        """Take the law of the others' sum at first, first + 1, ..."""
        self.first, self.law, self.rate, self.tail = first, law, rate, tail
        rising = list(map(mul, law, accumulate([(rate).exp()] * (len(law) - 1), mul, initial=ONE)))
        falling = list(map(mul, law, accumulate([(-rate).exp()] * (len(law) - 1), mul, initial=ONE)))
        self.plain, self.rising, self.falling = Running(law), Running(rising), Running(falling)

    def masses(self, c: int, borders: Sequence[int]) -> list[Ball]:
        """rho(block | a) for the blocks between borders, a adding c."""
        at = self.first + c
        return [self.plain.over(i - at, j - at) for i, j in pairwise(borders)]

    def inside(self, c: int, low: int, high: int) -> tuple[range, Sequence[Ball], Ball]:
        """Answers from low to high that have mass given a, their rho(f|a), and that of all others."""
        at, many = self.first + c, len(self.law)
        i = min(max(0, low - at), many)
        j = max(i, min(many, high + 1 - at))
        return range(i + at, j + at), self.law[i:j], self.plain.over(0, i) + self.plain.over(j, many)

    def below(self, c: int, borders: Sequence[int], densities: Sequence[Ball], cuts: Sequence[int]) -> list[Ball]:
        """sum_t w(t) P(Y < cut | t) for every cut, and sum_t w(t); w is x times its density on every block.

        That is sum_{f<cut} w - tail ( sum_{f<cut} w e^(-rate (cut-1-f)) - sum_{f>=cut} w e^(-rate (f-cut)) ).
        """
        tick()
        before, left, right = [], [], []
        total = near = ZERO
        places = [borders[0], *cuts, borders[-1]]
        for i, j in pairwise(places):
            plain, rising, falling = self._between(c, borders, densities, i, j)
            # Of the answers i..j-1: exp( -rate (j - 1 - f) ) and exp( -rate (f - i) ), with k = f - c - first.
            near = near * (-self.rate * (j - i)).exp() + rising * (-self.rate * (j - 1 - c - self.first)).exp()
            total += plain
            before.append(total)
            left.append(near)
            right.append(falling * (self.rate * (i - c - self.first)).exp())
        near = ZERO
        for at in range(len(right) - 1, 0, -1):
            near = near * (-self.rate * (places[at + 1] - places[at])).exp() + right[at]
            right[at] = near
        found = [x - self.tail * (y - z) for x, y, z in zip(before, left, right[1:], strict=False)]
        return [*found, total]

    def _between(
        self, c: int, borders: Sequence[int], densities: Sequence[Ball], low: int, high: int
    ) -> tuple[Ball, Ball, Ball]:
        """The three sums over answers low..high-1, times the densities."""
        sums = [ZERO, ZERO, ZERO]
        b, at = max(0, bisect_left(borders, low + 1) - 1), self.first + c
        while b < len(densities) and borders[b] < high:
            if not densities[b].is_zero():
                i, j = max(low, borders[b]) - at, min(high, borders[b + 1]) - at
                for k, running in enumerate((self.plain, self.rising, self.falling)):
                    sums[k] += densities[b] * running.over(i, j)
            b += 1
        return sums[0], sums[1], sums[2]


def window_sums(terms: Sequence[Ball], width: int) -> list[Ball]:
    """Sums over all runs of `width` neighbours that meet the terms, those that stand out at either end included.

    Terms are cut into blocks of that many; a run is the end of one and the beginning of the next, without a difference.
    """
    padded = [*[ZERO] * (width - 1), *terms, *[ZERO] * (2 * width)]
    blocks = [padded[i : i + width] for i in range(0, len(padded) - width + 1, width)]
    heads = [list(accumulate(block, initial=ZERO)) for block in ticking(blocks)]
    tails = [list(accumulate(reversed(block), initial=ZERO)) for block in ticking(blocks)]
    places = map(divmod, range(len(terms) + width - 1), [width] * (len(terms) + width - 1))
    return [tails[b][width - k] + heads[b + 1][k] for b, k in places]
