"""Two classical special cases beside packages made for them: capacity (n = 1, b = 0), rate-distortion (b = log|X|)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from measure import Section, alone, short, timed
from scipy.special import rel_entr

import dalenius as dl
from dalenius.bounds import capacity as whole

SIZES = tuple(2**k for k in range(3, 13))
GAP = 1e-6  # nats: certified gap of a capacity
RATE_GAP = 1e-5  # nats: certified gap of a rate
WALL = 10  # our own limits are of the clock on the wall: loose ones, so that processor time decides, as for peers
LADDER = tuple(10.0**-k for k in range(7))  # a peer's stopping rule, as shares of the gap wanted, until it is reached
Answer = dict[str, Any]

CAPACITY_TEXT = f"""Channels of k rows and k outputs, rows drawn from Dirichlet(1/2); processor seconds of one thread
until the bracket of Blahut and Arimoto, I(p) <= C <= max_x D(q_x || p q), at the prior returned is at most {GAP:g} nats
wide. Each peer has the loosest of seven stopping rules that gets there. `dl.audit` is at
entropy 0, with its certificate; `profile` is the capacity that `mechanism.profile()` holds, without one. Who does not
get there counts at the limit where the other does ("<" for us). A call of ours costs some milliseconds of Python before
anything is computed: where the alternating iteration needs less than that in C++, qif is ahead."""
RATE_TEXT = f"""identity(k), |x - y|, p0 uniform, at the point of the curve with slope beta; processor seconds of one
thread to a certified gap of {RATE_GAP:g} nats: ours as `dl.design` says, the peers' by weak duality at the output law
that they return. Each peer has the loosest of seven stopping rules that gets there; where none does, its best gap is
named and the ratio does not count. Our time holds the audit of the mechanism and the certificate, and designs are
limited to 2^20 values x outputs; qif iterates in C++, which takes a few rounds where the slope is steep beside the
range (1), and very many where it is not (8/k)."""


def channel(k: int) -> np.ndarray:
    """Rows drawn from Dirichlet(1/2)."""
    return np.random.default_rng(k).dirichlet(np.full(k, 0.5), size=k)


def capacity_gap(p: np.ndarray, q: np.ndarray) -> float:
    """max_x D(q_x || p q) - I(p)."""
    divergence = rel_entr(q, p @ q).sum(axis=1)
    return float(divergence.max() - p @ divergence)


def capacity_audit(k: int, limit: float) -> Answer:
    """The public way: one record, an adversary who may know anything."""
    dl.audit(dl.Mechanism.from_matrix(channel(4), [4]), entropy=0.0, verify=False)  # imports
    mechanism = dl.Mechanism.from_matrix(channel(k), [k])
    answer, seconds = timed(
        lambda: dl.audit(mechanism, entropy=0.0, tolerance=GAP, time_limit=WALL * limit, verify=False), limit
    )
    return {"seconds": seconds, "gap": answer.gap, "value": answer.lower}


def capacity_whole(k: int, limit: float) -> Answer:
    """The capacity of the whole channel, as profiles have it."""
    mechanism = dl.Mechanism.from_matrix(channel(k), [k])
    answer, seconds = timed(lambda: whole.capacity(mechanism, tolerance=GAP), limit)
    return {"seconds": seconds, "gap": answer.gap, "value": answer.lower}


def capacity_qif(k: int, limit: float) -> Answer:
    """qif's Blahut-Arimoto in C++ with its absolute rule, in bits; a relative rule above 0 must hold besides."""
    import qif

    q = np.ascontiguousarray(channel(k))
    return _ladder(
        lambda rule: np.asarray(qif.measure.shannon.add_capacity(q, rule / math.log(2), 0.0)[1]).ravel(),
        lambda p: capacity_gap(p, q),
        GAP,
        limit,
    )


def capacity_dit(k: int, limit: float) -> Answer:
    """dit's Blahut-Arimoto; it stops when the value moves by no more than its rule."""
    from dit.algorithms import channel_capacity

    q = channel(k)
    return _ladder(
        lambda rule: channel_capacity(q, rtol=0.0, atol=rule)[1], lambda p: capacity_gap(np.asarray(p), q), GAP, limit
    )


def _ladder(solve: Callable[[float], Any], gap_of: Callable[[Any], float], goal: float, limit: float) -> Answer:
    """The first stopping rule that reaches the goal, else the last."""
    for share in LADDER:
        found, seconds = timed(partial(solve, share * goal), limit)
        gap = gap_of(found)
        if gap <= goal:
            break
    return {"seconds": seconds, "gap": gap}


def distances(k: int) -> np.ndarray:
    """|x - y|."""
    x = np.arange(k, dtype=float)
    return np.abs(x[:, None] - x)


def lagrangian(d: np.ndarray, r: np.ndarray, beta: float) -> tuple[float, float, float]:
    """Bounds on min I(X;Y) + beta E d for uniform X, and the distortion, at the output law r.

    With Z_x = sum_y r_y exp(-beta d) and c_y = sum_x p_x exp(-beta d) / Z_x the minimum is at least
    -sum_x p_x log Z_x - log max_y c_y (weak duality); q(y|x) = r_y exp(-beta d) / Z_x attains the upper bound.
    """
    p, kernel = np.full(len(d), 1 / len(d)), np.exp(-beta * d)
    z = kernel @ r
    q = r * kernel / z[:, None]
    distortion = float(p @ (q * d).sum(axis=1))
    upper = float(p @ rel_entr(q, p @ q).sum(axis=1)) + beta * distortion
    return float(-(p @ np.log(z)) - math.log(((p / z) @ kernel).max())), upper, distortion


def distortion_at(k: int, beta: float, rounds: int = 20000) -> float:
    """The distortion at slope beta, by the plain iteration r <- r c, close enough to set the task."""
    d, r, p = distances(k), np.full(k, 1 / k), np.full(k, 1 / k)
    kernel = np.exp(-beta * d)
    for _ in range(rounds):
        c = (p / (kernel @ r)) @ kernel
        r = r * c / (r @ c)
        if c.max() < 1 + 1e-7:
            break
    return lagrangian(d, r, beta)[2]


def _rate_gap(d: np.ndarray, r: np.ndarray, beta: float) -> float:
    lower, upper, _ = lagrangian(d, np.maximum(r, 0) / np.maximum(r, 0).sum(), beta)
    return upper - lower


def rate_design(k: int, beta: float, limit: float) -> Answer:
    """The public way: no adversary knows anything, so that leakage is the rate."""
    dl.design(dl.queries.identity(3), distortion=0.3, entropy=math.log(3), verify=False)  # imports
    at, query = distortion_at(k, beta), dl.queries.identity(k)
    answer, seconds = timed(
        lambda: dl.design(
            query, distortion=at, entropy=math.log(k), tolerance=RATE_GAP, time_limit=WALL * limit, verify=False
        ),
        limit,
    )
    return {"seconds": seconds, "gap": answer.gap}


def rate_qif(k: int, beta: float, limit: float) -> Answer:
    """qif's Blahut-Arimoto in C++, its loss in nats times beta."""
    import qif

    p, d = np.full(k, 1 / k), distances(k)
    make = qif.mechanism.shannon.max_entropy_given_same_loss
    return _ladder(
        lambda rule: p @ np.asarray(make(p, p, lambda x, y: beta * abs(x - y), rule, 0.0)),
        lambda r: _rate_gap(d, r, beta),
        RATE_GAP,
        limit,
    )


def rate_dit(k: int, beta: float, limit: float) -> Answer:
    """dit's Blahut-Arimoto from one start; it stops when the distortion moves by less than 1e-5 of itself."""
    from dit.rate_distortion.blahut_arimoto import blahut_arimoto

    p, d = np.full(k, 1 / k), distances(k)
    found, seconds = timed(
        lambda: blahut_arimoto(p, beta / math.log(2), distortion=lambda *_: d, max_iters=10**7, restarts=1)[1], limit
    )
    return {"seconds": seconds, "gap": _rate_gap(d, found.sum(axis=0), beta)}


def rate_cvxpy(k: int, beta: float, limit: float) -> Answer:
    """CVXPY with Clarabel: the joint law, its relative entropy to the product of its marginals."""
    import cvxpy as cp

    d, at = distances(k), distortion_at(k, beta)

    def solve(rule: float) -> tuple[np.ndarray, float]:
        joint = cp.Variable((k, k), nonneg=True)
        product = np.full((k, 1), 1 / k) @ cp.reshape(cp.sum(joint, axis=0), (1, k), order="C")
        meets = cp.sum(cp.multiply(joint, d)) <= at
        task = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(joint, product))), [cp.sum(joint, axis=1) == 1 / k, meets])
        task.solve(solver=cp.CLARABEL, tol_gap_abs=rule, tol_gap_rel=rule, max_threads=1)
        return np.asarray(joint.value).sum(axis=0), float(meets.dual_value)

    return _ladder(solve, lambda found: _rate_gap(d, *found), RATE_GAP, limit)


@dataclass(frozen=True)
class Race:
    """Ways of ours and of peers to one number, and the gap that counts as being there."""

    title: str
    text: str
    goal: float
    own: dict[str, Callable[..., Answer]]
    peers: dict[str, Callable[..., Answer]]


CAPACITY = Race(
    "Capacity",
    CAPACITY_TEXT,
    GAP,
    {"dl.audit": capacity_audit, "profile": capacity_whole},
    {"qif": capacity_qif, "dit": capacity_dit},
)
RATE = Race(
    "Rate-distortion",
    RATE_TEXT,
    RATE_GAP,
    {"dl.design": rate_design},
    {"qif": rate_qif, "dit": rate_dit, "CVXPY with Clarabel": rate_cvxpy},
)


def _run(
    ways: dict[str, Callable[..., Answer]], tasks: list[dict[str, Any]], limit: float
) -> Iterator[dict[str, Answer]]:
    """Every way on every task, of rising size; who was ended at one is not asked again."""
    out: dict[str, str] = {}
    for task in tasks:
        found: dict[str, Answer] = {}
        for name, way in ways.items():
            answer = {"failed": "", "size": task["k"]} if name in out else alone(way, **task, limit=limit)
            found[name] = answer
            if answer.get("seconds", 0.0) >= limit or "failed" in answer:
                out[name] = answer.get("failed", "limit")
        yield found


def _cell(answer: Answer, goal: float) -> str:
    if "failed" in answer:
        return str(answer["failed"])
    reached = "" if answer["gap"] <= goal else f" (gap {answer['gap']:.0e})"
    return f"{answer['seconds']:.3g}{reached}"


def _reached(answer: Answer, goal: float) -> float | None:
    return float(answer["seconds"]) if "failed" not in answer and answer["gap"] <= goal else None


def _ratio(mine: float | None, theirs: float | None, limit: float, *, ended: bool) -> tuple[float, str] | None:
    """Their time over mine; who did not get there counts at the limit, if the other did."""
    if mine is not None and theirs is not None:
        return theirs / mine, ""
    if mine is not None and ended:
        return limit / mine, ">"
    return None if theirs is None else (theirs / limit, "<")


def _section(race: Race, tasks: list[Answer], limit: float) -> Section:
    """Seconds of every way, and the ratio of every peer to each way of ours."""
    pairs = [(mine, peer) for mine in race.own for peer in race.peers]
    ratios: dict[tuple[str, str], list[tuple[float, str]]] = {pair: [] for pair in pairs}
    ways, rows = race.own | race.peers, []
    for task, found in zip(tasks, _run(ways, tasks, limit), strict=True):
        cells = []
        for mine, peer in pairs:
            ended = found[peer].get("failed") == "limit"
            ours, theirs = _reached(found[mine], race.goal), _reached(found[peer], race.goal)
            ratio = _ratio(ours, theirs, limit, ended=ended)
            ratios[mine, peer] += [] if ratio is None else [ratio]
            cells.append("" if ratio is None else f"{ratio[1]}{ratio[0]:.3g}")
        size = [f"{value:g}" for value in task.values()]
        rows.append([*size, *(_cell(found[name], race.goal) for name in ways), *cells])
    head = [*tasks[0], *(f"{name} s" for name in ways), *(f"{peer} / {mine}" for mine, peer in pairs)]
    summary = [short(f"{race.title} by {mine}", peer, ratios[mine, peer], "above 1") for mine, peer in pairs]
    return Section(race.title, f"{race.text} Limit: {limit:g} s a size.", summary, head, rows)


def capacities(*, quick: bool) -> Section:
    """Sizes 8 to 4096, or to 64."""
    tasks = [{"k": k} for k in SIZES[: 4 if quick else None]]
    limit = 5.0 if quick else 60.0
    return _section(CAPACITY, tasks, limit)


def rates(*, quick: bool) -> Section:
    """A slope of 1, where noise reaches as far at every size, and of 8/k, where it reaches as far relative to k."""
    tasks = [{"k": k, "beta": beta} for k in SIZES[: 3 if quick else None] for beta in dict.fromkeys((1.0, 8 / k))]
    limit = 5.0 if quick else 60.0
    return _section(RATE, tasks, limit)
