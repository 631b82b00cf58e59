"""A small writer of proofs of kind "posteriors": it shares nothing with the solver or with the verifier.

Cuts in floats, level by level, until every leaf is below the claim with the few multipliers that are tried.
"""

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from kinds import Floats, Json


def packed(content: bytes) -> str:
    """base64 of zlib."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def unpacked(text: str) -> bytes:
    """The bytes of a stream."""
    return zlib.decompress(base64.b64decode(text))


def sigma_of(scale: int, code: int) -> float:
    """The number that a code stands for."""
    bits = 3 * (scale + 1)
    return float((1 + (code % 2**bits) / 2**bits) * 2.0 ** (code // 2**bits))


def phi(v: Floats) -> Floats:
    """v log v."""
    return v * np.log(np.maximum(v, 1e-300))


@dataclass
class Problem:
    """Cells by secret value, K, groups of outputs with eta and tangents, and whether ratios are used."""

    laws: list[Floats]
    rho: list[Floats]
    knowledge: float
    groups: list[int]
    eta: float = 0.0
    tangents: list[Floats] = field(default_factory=list)
    ratios: bool = False

    def __post_init__(self) -> None:
        self.many = max(self.groups) + 1
        self.single = len(set(self.groups)) == len(self.groups)
        self.coarse = [
            np.stack([q[:, np.array(self.groups) == g].sum(axis=1) for g in range(self.many)], 1) for q in self.laws
        ]
        self.boxed = 1 if len(self.laws) == 2 else len(self.laws)
        self.boxes = self.boxed * self.many
        if self.single:
            self.eta, self.tangents = 0.0, []
        self.g = [self._tangent(lam) for lam in self.tangents]

    def _tangent(self, lam: Floats) -> list[Floats]:
        """g of every value and cell."""
        weights = [r * np.exp(q @ x) for r, q, x in zip(self.rho, self.laws, lam, strict=True)]
        fine = np.stack([w @ q for w, q in zip(weights, self.laws, strict=True)])
        coarse = np.stack([w @ q for w, q in zip(weights, self.coarse, strict=True)])
        total = math.log(sum(w.sum() for w in weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            v, group = (
                np.nan_to_num(np.log(z / z.sum(axis=0)), nan=0.0, neginf=0.0, posinf=0.0) for z in (fine, coarse)
            )
        terms = v - (1 - self.eta) * group[:, self.groups] + self.eta * (total - lam)
        return [q @ x for q, x in zip(self.laws, terms, strict=True)]

    def bound(self, low: Floats, high: Floats, m: Floats, sigma: float, tangent: int = 0) -> float:
        """The bound of a leaf, in floats."""
        common = np.maximum(m * low, m * high).sum(axis=0)
        if len(self.laws) == 2:
            low, high, m = np.stack([1 - high[0], low[0]]), np.stack([1 - low[0], high[0]]), np.stack([0 * m[0], m[0]])
        width = high - low
        thin = width <= 1e-7 * high
        slope = np.where(thin, 1 + np.log(np.maximum(high, 1e-300)), (phi(high) - phi(low)) / np.where(thin, 1, width))
        beta = np.maximum(phi(low) - slope * low, phi(high) - slope * high).sum(axis=0)
        linear = (1 - self.eta) * (slope + beta) + common - m
        logs = []
        for a, (q, r) in enumerate(zip(self.coarse, self.rho, strict=True)):
            x = (q @ linear[a] + (self.g[tangent][a] if self.g else 0)) / sigma
            logs.append(sigma / (1 + sigma) * (x.max() + math.log(r @ np.exp(x - x.max()))))
        top = max(logs)
        return float(
            (1 + sigma) * (top + math.log(sum(math.exp(x - top) for x in logs))) + (sigma + self.eta) * self.knowledge
        )

    def factors(self, value: int, group: int) -> tuple[Floats, Floats]:
        """Factors of odds, as floats have them: where these overflow they are false, and so is a proof."""
        own, rest = self.coarse[value], np.concatenate([q for a, q in enumerate(self.coarse) if a != value])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            own, rest = own / own[:, [group]], rest / rest[:, [group]]
            down, up = own.min(axis=0) / rest.max(axis=0), own.max(axis=0) / rest.min(axis=0)
        return np.nan_to_num(down, nan=0.0), np.nan_to_num(up, nan=np.inf)

    def cut(self, low: Floats, high: Floats, box: int) -> list[tuple[Floats, Floats, bool]]:
        """Both halves, and whether they are empty beyond doubt."""
        a, g = divmod(box, self.many)
        x, y = low[a, g], high[a, g]
        c = (1 - (math.sqrt((1 - x) * (1 - y)) - math.sqrt(x * y))) / 2
        c = c if x < c < y else (x + y) / 2
        found = []
        for side in (0, 1):
            ends = low.copy(), high.copy()
            ends[1 - side][a, g] = c
            if self.ratios:
                down, up = self.factors(1 if len(self.laws) == 2 else a, g)
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    carried = c / (c + (1 - c) / (up, down)[side])
                carried = np.where(np.isfinite(carried), carried, (1.0, 0.0)[side])
                ends[1 - side][a] = np.maximum(ends[0][a], carried) if side else np.minimum(ends[1][a], carried)
            lower, upper = ends
            empty = bool((lower > upper + 1e-12).any())
            if len(self.laws) != 2:
                least, most = lower.sum(axis=0), upper.sum(axis=0)
                empty |= bool((least > 1 + 1e-12).any() or (most < 1 - 1e-12).any())
                lower, upper = np.maximum(lower, 1 - (most - upper)), np.minimum(upper, 1 - (least - lower))
                empty |= bool((lower > upper + 1e-12).any())
            found.append((lower, np.maximum(lower, upper), empty))
        return found


@dataclass
class Leaf:
    """What is written about a leaf."""

    scale: int
    sigma: int
    m: list[int]
    tangent: int


def written(problem: Problem, codes: Sequence[int], leaves: Sequence[Leaf], upper: float, wide: int = 1) -> Json:
    """A proof with these nodes, level by level."""
    kind, signed = ("<u1" if problem.boxes + 2 <= 256 else "<u2"), f"<i{wide}"
    streams: Json = {
        "scale": packed(bytes(leaf.scale for leaf in leaves)),
        "sigma": packed(np.array([leaf.sigma for leaf in leaves], "<i4").tobytes()),
        "m": packed(np.array([leaf.m for leaf in leaves], signed).tobytes()),
        "bytes": wide,
    }
    proof: Json = {
        "kind": "posteriors",
        "upper": upper,
        "groups": problem.groups,
        "eta": problem.eta,
        "ratios": problem.ratios,
    }
    if problem.tangents:
        proof["tangents"] = [lam.tolist() for lam in problem.tangents]
    if len(problem.tangents) > 1:
        streams["tangent"] = packed(bytes(leaf.tangent for leaf in leaves))
    return {**proof, "tree": packed(np.array(codes, kind).tobytes()), "leaves": streams}


def prove(problem: Problem, upper: float, seed: int = 0, nodes: int = 20_000) -> Json:
    """Return a proof of this claim; it fails where so many nodes do not suffice."""
    rng = np.random.default_rng(seed)
    shape = (problem.boxed, problem.many)
    level: list[tuple[Floats, Floats, bool, int]] = [(np.zeros(shape), np.ones(shape), False, -8)]
    codes: list[int] = []
    leaves: list[Leaf] = []
    while level:
        assert len(codes) + len(level) <= nodes, "too many nodes"
        after: list[tuple[Floats, Floats, bool, int]] = []
        for low, high, empty, before in level:
            if empty:
                codes.append(problem.boxes + 1)
                continue
            leaf, near = _closed(problem, (low, high), before, upper, rng)
            if leaf is not None:
                codes.append(problem.boxes)
                leaves.append(leaf)
                continue
            gap = (phi(low) + phi(high)) / 2 - phi((low + high) / 2)
            box = int(np.argmax(gap * (1 + 0.1 * rng.random(shape))))
            codes.append(box)
            after += [(*half, near) for half in problem.cut(low, high, box)]
        level = after
    return written(problem, codes, leaves, upper)


def _closed(
    problem: Problem, box: tuple[Floats, Floats], near: int, upper: float, rng: np.random.Generator
) -> tuple[Leaf | None, int]:
    """Multipliers that bound this box below the claim, if any are found, and the best sigma that was tried."""
    low, high = box
    best = (math.inf, near, 0)
    for code in (near - 8, near - 3, near, near + 3, near + 8, near + 24):
        for tangent in range(max(1, len(problem.tangents))):
            value = problem.bound(low, high, np.zeros_like(low), sigma_of(0, code), tangent)
            best = min(best, (value, code, tangent))
    m = np.zeros(low.shape, int)
    if best[0] > upper - 1e-9:
        for _ in range(6):
            trial = m + rng.integers(-3, 4, size=m.shape) * (rng.random(m.shape) < 0.4)
            value = problem.bound(low, high, trial / 16, sigma_of(0, best[1]), best[2])
            if value < best[0]:
                best, m = (value, *best[1:]), trial
    if best[0] > upper - 1e-9:
        return None, best[1]
    return Leaf(0, best[1], m.ravel().tolist(), best[2]), best[1]
