"""Points of the experiments: plain data in; rows of numbers and their certificates out."""

import hashlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dalenius.api.audits import audit
from dalenius.api.designs import design
from dalenius.certificates.verifying import verify
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.distortion import Distortion
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.model.query import Query
from dalenius.numerics.information import entropy, mutual_information
from dalenius.paper.descent import Tradeoff
from dalenius.paper.dual import minimal_distortion
from dalenius.paper.leakage import Leakage, maximal_leakage, restarts
from dalenius.paper.primal import leakage_distortion_tradeoff
from dalenius.paper.reproduce import recipe, text
from dalenius.paper.reproduce.printed import LN2, RATIONAL, binary_entropy
from dalenius.paper.reproduce.rows import Row
from dalenius.results.audit import Audit
from dalenius.results.result import finite

# All repairs by choice, which were ours in version 0.1.
OURS = ("gradient", "escort", "hinge", "penalty_owner")


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
    brentq = scipy.optimize.brentq
    s = 0.5 if excess == LN2 else float(brentq(lambda x: binary_entropy(x) - excess, 0.0, 0.5, xtol=1e-16))
    return max(0.0, LN2 - binary_entropy(s * (1 - flip) + flip * (1 - s)))


def parity_distortion(n: int, b: float, leakage: float) -> float:
    """The flip at which the parity of n bits leaks so much: the least distortion at that leakage."""
    if leakage >= parity_leakage(n, b, 0.0):
        return 0.0
    return float(scipy.optimize.brentq(lambda flip: parity_leakage(n, b, flip) - leakage, 0.0, 0.5, xtol=1e-15))


def _audit(point: Point, seed: int) -> Measured:
    """The certified bracket of L(b), and what Algorithm 1 finds from random starts."""
    asked = point.parameters
    eps = asked.get("eps", recipe.GRID_EPS)
    query = parse_query(asked["query"])
    mechanism = parse_mechanism(asked["mechanism"], query)
    parity = asked["query"] == f"modular_sum(n={query.n}, modulus=2)"
    tolerance = asked.get("tolerance") or (recipe.PARITY_TOLERANCE if parity else recipe.TOLERANCE)
    answer, verified = _certified(mechanism, asked["b"], tolerance, seed)
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
        "eps": eps,
        **_paper(mechanism, asked["b"], point.starts, seed, eps=eps),
        "printed": asked.get("printed"),
    }
    for name, starts in asked.get("series", {}).items():
        row |= _series(mechanism, asked["b"], name, starts, seed)
    return Measured((row,), {"": answer.certificate.data})


def _value(point: Point, seed: int) -> Measured:
    """A number of the appendix against its closed form, and where it is a leakage, against its bracket."""
    asked = dict(point.parameters)
    source = asked.pop("mechanism")
    row: Row = {**asked, "lower": None, "upper": None, "verified": None}
    if source is None:
        return Measured((row,))
    mechanism = parse_mechanism(source, parse_query("modular_sum(n=4, modulus=2)"))
    answer, verified = _certified(mechanism, 0.0, recipe.PARITY_TOLERANCE, seed, unit=asked["unit"])
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

    primal: reported is a leakage, achieved a distortion. dual: the other way round. Columns that begin with strict_ are
    of the other reading of Algorithms 9 and 10, those with ours_ of all repairs by choice, those with loose_ and fine_
    of the proof's reading with another c in the line search, and with every tolerance at 1e-9.
    """
    primal = point.kind == "primal"
    n, b, budget = (point.parameters[name] for name in ("n", "b", "D" if primal else "L"))
    query = parse_query(f"modular_sum(n={n}, modulus=2)")
    asked = {"distortion" if primal else "leakage": budget}
    best = design(
        query,
        entropy=b,
        tolerance=recipe.TOLERANCE,
        time_limit=recipe.TIME_LIMIT,
        seed=seed,
        verify=False,
        **asked,
    )
    _completed(best.stopped)
    runs = _variants(point, primal=primal)
    row = {
        **{name: point.parameters[name] for name in ("n", "b", "D" if primal else "L")},
        "lower": best.lower,
        "upper": best.upper,
        "verified": bool(verify(best)),
        "closed_form": (parity_leakage if primal else parity_distortion)(n, b, budget),
        "starts": point.starts,
        "audits": 0,
    }
    certificates = {"": best.certificate.data}
    for prefix, (starts, options) in runs.items():
        found, audits = _alternated(query, budget, b, starts, seed, primal=primal, **options)
        row["audits"] += starts
        row["verified"] = row["verified"] and all(verified for _, verified in audits)
        row |= _summary(found, [answer.upper for answer, _ in audits], budget, prefix, primal=primal)
        ending = f".{prefix or 'start_'}".replace("_", "-")
        certificates |= {f"{ending}{k}": answer.certificate.data for k, (answer, _) in enumerate(audits)}
    return Measured(({**row, "printed": None},), certificates)


def _variants(point: Point, *, primal: bool) -> dict[str, tuple[int, dict[str, Any]]]:
    """How Algorithm 6 or 9 is run: the prefix of its columns, and for each the number of starts and the options."""
    others = point.parameters["others"]
    ours: dict[str, Any] = {"repairs": OURS, **({"T_max": recipe.OURS_ROUNDS} if primal else {})}
    runs: dict[str, tuple[int, dict[str, Any]]] = {"": (point.starts, {}), "ours_": (others, ours)}
    if primal:
        return runs
    inner = {number: {"eps": recipe.EPS} for number in (1, 10, 11)}
    fine = {"eps_outer": recipe.EPS, "eps_constraint": recipe.EPS, "inner": inner}
    return {
        **runs,
        "strict_": (others, {"reading": "strict"}),
        "loose_": (others, {"inner": {11: {"c": recipe.LOOSE}}}),
        "fine_": (others, fine),
    }


def _alternated(
    query: Query,
    budget: float,
    b: float,
    starts: int,
    seed: int,
    *,
    primal: bool,
    **options: Any,
) -> tuple[list[Tradeoff], list[tuple[Audit, bool]]]:
    """Algorithm 6 or 9 from random starts, each mechanism audited."""
    method: Callable[..., Tradeoff] = leakage_distortion_tradeoff if primal else minimal_distortion
    distance = query.distance()[query.statistic.class_table()]
    found, audits = [], []
    for k in range(starts):
        rng = np.random.default_rng([seed, k])
        found.append(method(distance, query.records, budget, b, rng=rng, start=k, **options))
        returned = Mechanism.from_matrix(found[-1].channel, records=query.records)
        audits.append(_certified(returned, b, recipe.RETURNED_TOLERANCE, seed))
    return found, audits


def _summary(found: list[Tradeoff], leaks: list[float], budget: float, prefix: str, *, primal: bool) -> Row:
    """What the starts reported, achieved and leak, and how what is said to fall fell."""
    leakages, distortions = [one.reported for one in found], [one.distortion for one in found]
    reported, achieved = (leakages, distortions) if primal else (distortions, leakages)
    late = [step.worst for one in found for step in one.history[-recipe.LATE :]]
    kept = [] if primal else _kept(found, budget)
    return {
        **_spread(f"{prefix}reported", reported),
        **_spread(f"{prefix}achieved", achieved),
        **_spread(f"{prefix}leaks", leaks),
        **_spread(f"{prefix}late", late),
        f"{prefix}rounds_min": min(len(one.history) for one in found),
        f"{prefix}rounds": max(len(one.history) for one in found),
        f"{prefix}settled": sum(one.status == "converged" for one in found),
        f"{prefix}rising": sum(_rises(one, primal=primal) for one in found),
        f"{prefix}kept_least": min(kept) if kept else None,
        f"{prefix}values": " ".join(f"{r!r}:{a!r}:{k!r}" for r, a, k in zip(reported, achieved, leaks, strict=True)),
    }


def _kept(found: list[Tradeoff], budget: float) -> list[float]:
    """Distortions of mechanisms met on the way that keep a leakage budget, as Algorithm 1 sees in the next round."""
    steps = (pair for one in found for pair in pairwise(one.history))
    return [step.value for step, following in steps if following.worst <= budget]


def _rises(one: Tradeoff, *, primal: bool) -> bool:
    """Whether what the theorem calls monotone rises: the worst-case leakage of Algorithm 6, the distortion of 9."""
    path = [step.worst if primal else step.value for step in one.history]
    return any(after > before + recipe.RISE for before, after in pairwise(path))


def _global(point: Point, seed: int) -> Measured:
    """Algorithm 1 without entropy constraint on a channel of no symmetry, each loop run to 1e-9."""
    asked = point.parameters
    records = asked["records"]
    channel = np.array(RATIONAL) if asked["draw"] is None else _drawn(asked["draw"], records)
    mechanism = Mechanism.from_matrix(channel, records=records)
    answer, verified = _certified(mechanism, 0.0, recipe.PARITY_TOLERANCE, seed)
    row = {
        "b": 0.0,
        "records": "x".join(map(str, records)),
        "draw": asked["draw"],
        "lower": answer.lower,
        "upper": answer.upper,
        "verified": verified,
        **_paper(mechanism, 0.0, point.starts, seed, inner={2: {"T_max": 20_000}}),
    }
    return Measured((row,), {"": answer.certificate.data})


def _drawn(draw: int, records: Sequence[int]) -> NDArray[np.float64]:
    return np.random.default_rng(draw).dirichlet([0.5] * 3, size=int(np.prod(records)))


def _text(point: Point, seed: int) -> Measured:
    """What single formulas and tests of the text do on random instances."""
    return Measured(({"key": point.key, **text.MEASURES[point.parameters["what"]](seed, point.starts)},))


def _convergence(point: Point, seed: int) -> Measured:
    """Every outer iteration of Algorithm 1, 6 or 9 from a few starts.

    Loops of the first two are run to 1e-9, so that a rise is not a matter of tolerances; of Algorithm 6 twelve rounds.
    """
    asked, eps = point.parameters, recipe.EPS
    query = parse_query(f"modular_sum(n={asked['n']}, modulus=2)")
    designed: Any = (query.distance()[query.statistic.class_table()], query.records, asked.get("budget"), asked["b"])
    rows = []
    for k in range(point.starts):
        common: dict[str, Any] = {"rng": np.random.default_rng([seed, k]), "start": k}
        found: Leakage | Tradeoff
        if asked["algorithm"] == 1:
            found = maximal_leakage(parse_mechanism(asked["mechanism"], query), b=asked["b"], eps=eps, **common)
        elif asked["algorithm"] == 6:  # its number
            inner = {number: {"eps": eps} for number in (1, 7, 8)}
            found = leakage_distortion_tradeoff(*designed, eps=eps, T_max=recipe.DRAWN_ROUNDS, inner=inner, **common)
        else:
            found = minimal_distortion(*designed, reading=asked["reading"], **common)
        about = {name: asked.get(name) for name in ("algorithm", "reading", "budget")}
        for step in found.history:
            at = {"start": step.start, "iteration": step.iteration, "status": found.status}
            numbers = {name: finite(value) for name, value in asdict(step).items() if name not in at}
            rows.append({"key": f"{point.key}-{k}-{step.iteration}", **about, **at, **numbers})
    return Measured(tuple(rows))


KINDS: dict[str, Callable[[Point, int], Measured]] = {
    "audit": _audit,
    "primal": _design,
    "dual": _design,
    "surface": _surface,
    "value": _value,
    "global": _global,
    "text": _text,
    "convergence": _convergence,
}


def _certified(mechanism: Mechanism, b: float, tolerance: float, seed: int, unit: str = "nats") -> tuple[Audit, bool]:
    """The bracket of L(b), and whether the verifier agrees that it is proved and about this mechanism."""
    answer = audit(
        mechanism,
        entropy=b,
        unit=unit,
        tolerance=tolerance,
        relative=0.0,
        time_limit=recipe.TIME_LIMIT,
        seed=seed,
        verify=False,
    )
    _completed(answer.stopped)
    return answer, bool(verify(answer, mechanism=mechanism))


def _completed(stopped: str) -> None:
    """A solver answers the first Ctrl-C with what it has; a half-measured point is dropped."""
    if stopped == "interrupted":
        raise KeyboardInterrupt


def _paper(mechanism: Mechanism, b: float, starts: int, seed: int, *, scale: float = 1.0, **options: Any) -> Row:
    """Algorithm 1 from random starts: what each found, how many ended by their test, the least entropy of priors."""
    found = restarts(
        mechanism.matrix(), mechanism.records, b, starts=starts, seed=seed, **{"eps": recipe.EPS, **options}
    )
    values = [float(one.value) / scale for one in found]
    return {
        "starts": len(values),
        "converged": sum(one.status == "converged" for one in found),
        **_spread("paper", values),
        "paper_values": " ".join(map(repr, values)),
        "paper_entropy_min": min(float(entropy(one.prior)) for one in found),
    }


def _series(mechanism: Mechanism, b: float, name: str, starts: int, seed: int) -> Row:
    """Algorithm 1 with other repairs, or from the uniform prior, where the paper's text begins."""
    channel, records = mechanism.matrix(), mechanism.records
    if name == "uniform":
        begin = np.full(channel.shape[0], 1 / channel.shape[0])
        return {"uniform": maximal_leakage(channel, records, b, p_start=begin, eps=recipe.EPS).value}
    repairs, eps = (("gradient", "escort"), recipe.ESCORT_EPS) if name == "escort" else ((), recipe.EPS)
    found = restarts(channel, records, b, starts=starts, seed=seed, repairs=repairs, eps=eps)
    return _spread(name, [float(one.value) for one in found])


def _spread(name: str, values: Sequence[float]) -> Row:
    return {f"{name}_min": min(values), f"{name}_median": statistics.median(values), f"{name}_max": max(values)}
