"""Certified audits beside SCIP, which proves its bounds too, and beside a local search from many starts."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import audits
import numpy as np
from measure import Section, alone, short, timed
from scipy.optimize import minimize
from scipy.special import entr, rel_entr

import dalenius as dl
from dalenius.reductions.lump import Lumped, lump

GAP = 1e-5  # nats, of both
STARTS = 250
SHORT = 1e-3  # a start that misses more than this share of the leakage falls short
SLIP = 1e-6  # what tolerances of a solver in floating point may do to its bounds
TREES = {"simplices", "posteriors"}  # bounds that branch on all conditionals at once
LEAST_ARGUMENT = 1e-9
FEASIBLE = 1e-8

CASES: tuple[tuple[str, Callable[[], "dl.Mechanism"], float], ...] = (
    *((f"sum mod 3 of 4, flip 0.2, b = {b}", lambda: audits.modular(4, 3), b) for b in (1.0, 2.0, 2.5)),
    *((f"count of 4, geometric(1), b = {b}", lambda: audits.count(4), b) for b in (1.0, 2.0, 2.5)),
    *((f"parity of 4, flip 0.3, b = {b}", audits.parity, b) for b in (0.0, 2.2, 2.5, 2.7)),
    *(
        (f"random 3 x 3 values, 3 outputs, seed {seed}, b = 1.8", lambda seed=seed: audits.drawn(seed, (3, 3), 3), 1.8)
        for seed in range(6)
    ),
)
QUICK = (0, 2, 6, 8)
TEXT = f"""Processor seconds of one thread to a gap of {GAP:g} nats on the same lumped problems. For SCIP: the objective
and the entropy as sums of x log x, the valid cut I(A;Y) <= I(X;Y), feasibility tolerance {FEASIBLE:g}, arguments of
logarithms at least {LEAST_ARGUMENT:g}; where records differ, one problem after the other. Cases still open at SCIP's
limit count at that limit and are marked ">"; where no tree is needed SCIP ends within seconds as well, and a thousand
times faster would be less than a call of ours costs. SLSQP searches the same problem with exact gradients and proves
nothing; "short" are starts that miss more than {SHORT:.1%} of the leakage."""
HEAD = ["problem", "bracket (nats)", "bound", "nodes", "audit s", "verify s", "SCIP s", "SCIP / audit", "SCIP nodes"]
HEAD += ["brackets meet", "SLSQP starts short", "best start misses", "SLSQP / audit"]


def _problems(mechanism: "dl.Mechanism") -> list[Lumped]:
    """One for each orbit of records."""
    return [lump(mechanism, orbit[0])[0] for orbit in mechanism.statistic.orbits]


def ours(case: int, limit: float) -> dict[str, Any]:
    """Audit, and verify."""
    _, build, b = CASES[case]
    mechanism = build()
    dl.audit(audits.parity(), entropy=1.0, verify=False)  # imports
    answer, seconds = timed(
        lambda: dl.audit(mechanism, entropy=b, tolerance=GAP, relative=0, time_limit=limit, verify=False), 2 * limit
    )
    begin = time.process_time()
    verdict = dl.verify(answer)
    return {
        "lower": answer.lower,
        "upper": answer.upper,
        "bound": answer.upper_by,
        "nodes": answer.nodes,
        "seconds": seconds,
        "closed": answer.gap <= GAP,
        "verify": time.process_time() - begin,
        "verified": bool(verdict),
    }


def scip(case: int, limit: float) -> dict[str, Any]:
    """SCIP on every record in turn; the limit is for all together."""
    import pyscipopt

    _, build, b = CASES[case]
    mechanism = build()
    knowledge, left, nodes = mechanism.log_universe - b, limit, 0
    lower, upper, closed = 0.0, 0.0, True
    problems = _problems(mechanism)
    for lumped in problems:

        def solve(lumped: Lumped = lumped, left: float = left) -> Any:
            model = _model(pyscipopt, lumped, knowledge, left)
            model.optimize()
            return model

        model, seconds = timed(solve, 3 * limit + 10)
        left = max(0.1, left - seconds)
        lower, upper = max(lower, model.getPrimalbound()), max(upper, model.getDualbound())
        closed = closed and model.getStatus() in {"optimal", "gaplimit"}
        nodes += model.getNTotalNodes()
    spent = limit - left if closed else limit
    return {
        "lower": lower,
        "upper": upper,
        "seconds": spent,
        "closed": closed,
        "nodes": nodes,
        "version": model.version(),
    }


def _model(pyscipopt: Any, lumped: Lumped, knowledge: float, limit: float) -> Any:
    """max t with t <= I(A;Y), t <= I(X;Y), D(pi || rho) <= knowledge."""
    q, secrets, outputs = lumped.rows, range(lumped.secrets), range(lumped.channel.shape[1])
    model, total = pyscipopt.Model(), pyscipopt.quicksum
    model.hideOutput()

    def mass() -> Any:
        return model.addVar(lb=LEAST_ARGUMENT, ub=1)

    def xlogx(x: Any) -> Any:
        return x * pyscipopt.log(x)

    pi, p, r = [mass() for _ in q], [mass() for _ in secrets], [mass() for _ in outputs]
    z = [[mass() for _ in outputs] for _ in secrets]
    t = model.addVar(lb=0, ub=math.log(min(len(secrets), len(outputs))))
    model.addCons(total(pi) == 1)
    for a in secrets:
        own = np.flatnonzero(lumped.secret == a)
        model.addCons(p[a] == total(pi[c] for c in own))
        for y in outputs:
            model.addCons(z[a][y] == total(float(q[c, y]) * pi[c] for c in own))
    for y in outputs:
        model.addCons(r[y] == total(z[a][y] for a in secrets))
    answers = -total(map(xlogx, r))  # H(Y)
    model.addCons(t <= total(xlogx(x) for row in z for x in row) - total(map(xlogx, p)) + answers)
    model.addCons(t <= answers - total(float(h) * x for h, x in zip(entr(q).sum(axis=1), pi, strict=True)))
    away = zip(lumped.log_reference, pi, strict=True)
    model.addCons(total(map(xlogx, pi)) - total(float(log_rho) * x for log_rho, x in away) <= knowledge)
    model.setObjective(t, "maximize")
    model.setParams({"limits/absgap": GAP, "limits/time": limit, "timing/clocktype": 1, "numerics/feastol": FEASIBLE})
    return model


def slsqp(case: int, starts: int, limit: float) -> dict[str, Any]:
    """Return what each start finds, over all records."""
    _, build, b = CASES[case]
    mechanism = build()
    problems, rng = _problems(mechanism), np.random.default_rng(0)
    found, seconds = timed(
        lambda: [
            max(_local_search(lumped, mechanism.log_universe - b, rng) for lumped in problems) for _ in range(starts)
        ],
        limit,
        most=1,
    )
    return {"found": found, "seconds": seconds}


def _local_search(lumped: Lumped, knowledge: float, rng: np.random.Generator) -> float:
    """Maximise I(A;Y) over pi with D(pi || rho) <= knowledge; an infeasible end counts as nothing."""
    q, indicator = lumped.rows, np.eye(lumped.secrets)[lumped.secret].T
    rho = np.exp(lumped.log_reference)

    def negative(pi: np.ndarray) -> tuple[float, np.ndarray]:
        joint = indicator @ (np.maximum(pi, audits.TINY)[:, None] * q)
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        log_ratio = np.log(np.maximum(joint, audits.TINY) / np.maximum(product, audits.TINY))
        return -float(rel_entr(joint, product).sum()), 1 - (q * log_ratio[lumped.secret]).sum(axis=1)

    def away(pi: np.ndarray) -> float:
        return knowledge - float(rel_entr(np.maximum(pi, 0), rho).sum())

    def slope(pi: np.ndarray) -> np.ndarray:
        return np.asarray(lumped.log_reference - np.log(np.maximum(pi, audits.TINY)) - 1)

    end = minimize(
        negative,
        rng.dirichlet(np.ones(len(q))),
        jac=True,
        bounds=[(0, 1)] * len(q),
        constraints=(
            {"type": "eq", "fun": lambda pi: pi.sum() - 1, "jac": np.ones_like},
            {"type": "ineq", "fun": away, "jac": slope},
        ),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    pi = np.maximum(end.x, 0) / np.maximum(end.x, 0).sum()
    return -negative(pi)[0] if away(pi) >= -1e-7 else 0.0  # noqa: PLR2004 - rounding


def _lines(
    cases: Iterator[int], *, quick: bool, limit: float
) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
    for case in cases:
        audit, peer = alone(ours, case=case, limit=60.0), alone(scip, case=case, limit=limit)
        local = alone(slsqp, case=case, starts=STARTS // 10 if quick else STARTS, limit=600.0)
        if "failed" in audit:
            audit |= {"seconds": limit, "closed": False, "bound": "posteriors"}  # counts as open at the limit
            yield audit, peer, [CASES[case][0], f"FAILED: {audit['failed']}", *[""] * (len(HEAD) - 2)]
            continue
        yield audit, peer, [CASES[case][0], *_own(audit), *_scip(audit, peer), *_local(audit, local)]


def _own(audit: dict[str, Any]) -> list[str]:
    bracket = f"{audit['lower']:.6f} to {audit['upper']:.6f}" + ("" if audit["closed"] else " (open)")
    verify = f"{audit['verify']:.2f}" if audit["verified"] else "NOT VERIFIED"
    return [bracket, audit["bound"], str(audit["nodes"]), f"{audit['seconds']:.3f}", verify]


def _mark(audit: dict[str, Any], peer: dict[str, Any]) -> str:
    """Which side of the truth a ratio is on."""
    return {(True, True): "", (True, False): ">", (False, True): "<", (False, False): "about "}[
        audit["closed"], peer["closed"]
    ]


def _scip(audit: dict[str, Any], peer: dict[str, Any]) -> list[str]:
    if "failed" in peer:
        return [peer["failed"], "", "", ""]
    above = _mark(audit, peer)
    meet = max(audit["lower"], peer["lower"]) <= min(audit["upper"], peer["upper"]) + SLIP
    ratio = f"{above}{peer['seconds'] / audit['seconds']:.3g}"
    return [f"{'' if peer['closed'] else '>'}{peer['seconds']:.2f}", ratio, str(peer["nodes"]), "yes" if meet else "NO"]


def _local(audit: dict[str, Any], local: dict[str, Any]) -> list[str]:
    if "failed" in local:
        return [local["failed"], "", ""]
    if max(local["found"]) > audit["upper"] + SLIP:
        return [f"FOUND {max(local['found']):.6f}, ABOVE OUR UPPER BOUND", "", ""]
    missed = np.maximum(0.0, 1 - np.array(local["found"]) / audit["lower"])
    return [f"{(missed > SHORT).mean():.0%}", f"{missed.min():.2%}", f"{local['seconds'] / audit['seconds']:.3g}"]


def section(*, quick: bool) -> Section:
    """Every case, or four of them."""
    limit = 20.0 if quick else 120.0
    lines = list(_lines(iter(QUICK if quick else range(len(CASES))), quick=quick, limit=limit))
    pairs = [(audit, peer) for audit, peer, _ in lines if "failed" not in peer]
    ratios = [(peer["seconds"] / audit["seconds"], _mark(audit, peer)) for audit, peer in pairs]
    calm = [ratio for (audit, _), ratio in zip(pairs, ratios, strict=True) if audit["bound"] not in TREES]
    name = f"SCIP {pairs[0][1]['version']:g}" if pairs else "SCIP (not installed)"
    summary = [
        short("certified audit", name, ratios, "100 or more, none below 1"),
        short("certified audit, closed without a tree", name, calm, "1000 or more"),
    ]
    text = f"{TEXT} SCIP's limit: {limit:g} s; {STARTS // 10 if quick else STARTS} starts of SLSQP."
    return Section("Certified audits", text, summary, HEAD, [row for _, _, row in lines])
