"""Points of the experiments: plain data in; rows of numbers and their certificates out."""

import hashlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dalenius.answers import Run, audit_answer
from dalenius.api import SOLVER_SHARE, audit, design, verify
from dalenius.gallery.parse import parse_mechanism, parse_query
from dalenius.information import entropy, mutual_information
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import Distortion
from dalenius.model.mechanism import Mechanism
from dalenius.paper.dual import minimal_distortion
from dalenius.paper.leakage import restarts
from dalenius.paper.primal import leakage_distortion_tradeoff
from dalenius.reproduce.printed import LN2, binary_entropy
from dalenius.reproduce.rows import Row
from dalenius.results import NATS_PER_UNIT, Audit
from dalenius.solvers.audit import audit_records
from dalenius.solvers.watch import Watch

TIME_LIMIT = 120.0  # seconds; far more than any point needs, so that the clock decides nothing
PARITY_TOLERANCE, TOLERANCE = 1e-6, 1e-5
RETURNED_TOLERANCE = 1e-4  # of the audits of mechanisms that Algorithms 6 and 9 return


@dataclass(frozen=True)
class Point:
    """One measurement: plain data that any process can take up."""

    experiment: str
    key: str  # unique within the experiment; names its certificate's file
    kind: str  # one of KINDS
    parameters: Mapping[str, Any]
    starts: int = 0  # random starts of the paper's method


@dataclass(frozen=True)
class Measured:
    """Rows of a point, and the certificates that stand behind them, by the ends of their files' names."""

    rows: tuple[Row, ...]
    certificates: dict[str, dict[str, Any]] = field(default_factory=dict)


def measure(point: Point, seed: int) -> Measured:
    """Measure a point; the numbers depend on the point and the seed alone, not on order or company."""
    found = KINDS[point.kind](point, seed_of(point, seed))
    rows = tuple({"experiment": point.experiment, "key": point.key, **row} for row in found.rows)
    return Measured(rows, found.certificates)


def seed_of(point: Point, seed: int) -> int:
    """A seed of its own for every point: 48 bits of SHA-256 of (seed, experiment, key)."""
    text = f"{seed}/{point.experiment}/{point.key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def parity_leakage(n: int, b: float, flip: float) -> float:
    """L(b) of the parity of n >= 2 bits through BSC(p), in nats.

    ln 2 - H_b(p) for b <= (n-1) ln 2; beyond, ln 2 - H_b(s(1-p) + p(1-s)) with H_b(s) = b - (n-1) ln 2, s <= 1/2.
    """
    excess = min(max(0.0, b - (n - 1) * LN2), LN2)
    s = 0.5 if excess == LN2 else float(brentq(lambda x: binary_entropy(x) - excess, 0.0, 0.5, xtol=1e-16))
    return max(0.0, LN2 - binary_entropy(s * (1 - flip) + flip * (1 - s)))


def parity_distortion(n: int, b: float, leakage: float) -> float:
    """The flip at which the parity of n bits leaks so much: the least distortion at that leakage."""
    if leakage >= parity_leakage(n, b, 0.0):
        return 0.0
    return float(brentq(lambda flip: parity_leakage(n, b, flip) - leakage, 0.0, 0.5, xtol=1e-15))


def _audit(point: Point, seed: int) -> Measured:
    """The certified bracket of L(b), and what Algorithm 1 finds from random starts."""
    asked = point.parameters
    query = parse_query(asked["query"])
    mechanism = parse_mechanism(asked["mechanism"], query)
    parity = asked["query"] == f"modular_sum(n={query.n}, modulus=2)"
    answer, verified = _certified(mechanism, asked["b"], PARITY_TOLERANCE if parity else TOLERANCE, seed)
    distortion = Distortion.from_user(query).expected(mechanism)
    row = {
        "n": query.n,
        **{name: asked[name] for name in ("query", "mechanism", "family", "parameter", "b")},
        "distortion": distortion,
        "dp_epsilon": mechanism.dp_epsilon(),
        "lower": answer.lower,
        "upper": answer.upper,
        "verified": verified,
        "closed_form": parity_leakage(query.n, asked["b"], distortion) if parity else None,
        **_paper(mechanism, asked["b"], point.starts, seed),
        "printed": asked.get("printed"),
    }
    return Measured((row,), {"": answer.certificate.data})


def _value(point: Point, seed: int) -> Measured:
    """A number of the appendix against its closed form, and where it is a leakage, against its bracket."""
    asked = dict(point.parameters)
    source = asked.pop("mechanism")
    row: Row = {**asked, "lower": None, "upper": None, "verified": None}
    if source is None:
        return Measured((row,))
    mechanism = parse_mechanism(source, parse_query("modular_sum(n=4, modulus=2)"))
    answer, verified = _certified(mechanism, 0.0, PARITY_TOLERANCE, seed, unit=asked["unit"])
    row |= {"lower": answer.lower, "upper": answer.upper, "verified": verified}
    row |= _paper(mechanism, 0.0, point.starts, seed, scale=NATS_PER_UNIT[asked["unit"]])
    return Measured((row,), {"": answer.certificate.data})


def _surface(point: Point, _seed: int) -> Measured:
    """I(X_1;Y) and H(X) where P(x_1 = 1) = theta and P(x_2 = 1 | x_1) = phi for both x_1; Y is a noisy parity.

    I is concave in theta, the marginal, and convex in phi, the conditional; over this family alone the largest I
    with H(X) >= b is already L(b).
    """
    asked = point.parameters
    steps = np.linspace(0.0, 1.0, asked["size"])
    theta, phi = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    first, second = np.stack([1 - theta, theta], axis=1), np.stack([1 - phi, phi], axis=1)
    odd = np.stack([phi, 1 - phi], axis=1)  # P(parity = 1 | x_1)
    flipped = odd * (1 - asked["flip"]) + (1 - odd) * asked["flip"]
    joint = first[:, :, None] * np.stack([1 - flipped, flipped], axis=2)
    information, spread = mutual_information(joint), entropy(first) + entropy(second)
    columns = zip(theta.tolist(), phi.tolist(), information.tolist(), spread.tolist(), strict=True)
    rows = (
        {"key": f"theta{t:.3f}-phi{p:.3f}", "theta": t, "phi": p, "information": i, "entropy": h}
        for t, p, i, h in columns
    )
    return Measured(tuple(rows))


def _design(point: Point, seed: int) -> Measured:
    """The certified optimum of a design, Algorithm 6 or 9 from random starts, and what its mechanisms leak.

    primal: reported is a leakage, achieved a distortion. dual: the other way round.
    """
    primal = point.kind == "primal"
    n, b, budget = (point.parameters[name] for name in ("n", "b", "D" if primal else "L"))
    query = parse_query(f"modular_sum(n={n}, modulus=2)")
    asked = {"distortion" if primal else "leakage": budget}
    best = design(query, entropy=b, tolerance=TOLERANCE, time_limit=TIME_LIMIT, seed=seed, verify=False, **asked)
    _completed(best.stopped)
    method = leakage_distortion_tradeoff if primal else minimal_distortion
    cost = query.distance()[query.statistic.class_table()] / 2**n  # p0(x) d(f(x), y), p0 uniform
    found, audits = [], []
    for k in range(point.starts):
        found.append(method(cost, query.records, budget, b, rng=np.random.default_rng([seed, k]), start=k))
        returned = Mechanism.from_matrix(found[-1].channel, records=query.records)
        audits.append(_unhurried(returned, b, RETURNED_TOLERANCE, seed))
    leakages, distortions = [one.reported for one in found], [one.distortion for one in found]
    reported, achieved = (leakages, distortions) if primal else (distortions, leakages)
    leaks = [answer.upper for answer, _ in audits]
    row = {
        **point.parameters,
        "lower": best.lower,
        "upper": best.upper,
        "verified": bool(verify(best)) and all(verified for _, verified in audits),
        "closed_form": (parity_leakage if primal else parity_distortion)(n, b, budget),
        "starts": point.starts,
        **_spread("reported", reported),
        **_spread("achieved", achieved),
        **_spread("leaks", leaks),
        "values": " ".join(f"{r!r}:{a!r}:{k!r}" for r, a, k in zip(reported, achieved, leaks, strict=True)),
        "printed": None,
    }
    certificates = {f".start-{k}": answer.certificate.data for k, (answer, _) in enumerate(audits)}
    return Measured((row,), {"": best.certificate.data, **certificates})


KINDS: dict[str, Callable[[Point, int], Measured]] = {
    "audit": _audit,
    "primal": _design,
    "dual": _design,
    "surface": _surface,
    "value": _value,
}


def _certified(mechanism: Mechanism, b: float, tolerance: float, seed: int, unit: str = "nats") -> tuple[Audit, bool]:
    """The bracket of L(b), and whether the verifier agrees that it is proved and about this mechanism."""
    answer = audit(mechanism, entropy=b, unit=unit, tolerance=tolerance, time_limit=TIME_LIMIT, seed=seed, verify=False)
    _completed(answer.stopped)
    return answer, bool(verify(answer, mechanism=mechanism))


class _Unhurried(Watch):
    """A watch that gives every part of an audit the time it needs."""

    def share(self, part: float) -> None:
        """Let nothing but the limit of the whole end a part."""


def _unhurried(mechanism: Mechanism, b: float, tolerance: float, seed: int) -> tuple[Audit, bool]:
    """As `_certified`, where records are not interchangeable: `audit` leaves those that are not the worst by the clock.

    Their bounds count in the upper bound of the whole, which here must be the same in every run.
    """
    adversary = Adversary.from_user(mechanism.records, entropy=b)
    with _Unhurried(TIME_LIMIT) as watch:
        found = audit_records(mechanism, adversary.knowledge, SOLVER_SHARE * tolerance, watch, seed)
    answer = audit_answer(mechanism, adversary, found, Run("nats", tolerance, seed, watch))
    _completed(answer.stopped)
    return answer, bool(verify(answer, mechanism=mechanism))


def _completed(stopped: str) -> None:
    """A solver answers the first Ctrl-C with what it has; a half-measured point is no point."""
    if stopped == "interrupted":
        raise KeyboardInterrupt


def _paper(mechanism: Mechanism, b: float, starts: int, seed: int, scale: float = 1.0) -> Row:
    """Algorithm 1 from random starts: what each found, and the least entropy of their priors."""
    found = restarts(mechanism.matrix(), mechanism.records, b, starts=starts, seed=seed)
    values = [float(one.value) / scale for one in found]
    return {
        "starts": len(values),
        **_spread("paper", values),
        "paper_values": " ".join(map(repr, values)),
        "paper_entropy_min": min(float(entropy(one.prior)) for one in found),
    }


def _spread(name: str, values: Sequence[float]) -> Row:
    return {f"{name}_min": min(values), f"{name}_median": statistics.median(values), f"{name}_max": max(values)}
