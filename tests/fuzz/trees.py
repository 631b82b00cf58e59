"""Packed trees of posteriors, forged: no claim below what some prior leaks may pass, with NumPy or without.

Channels are random, with zeros and with entries near the least doubles. A tree is an honest one for a higher claim, or
random codes and numbers; then codes, streams, multipliers, sigma, groups, tangents, eta and ratios are changed.
"""

import base64
import copy
import random
import zlib
from collections.abc import Callable

import numpy as np
from kinds import Json
from posterior_trees import Floats, Leaf, Problem, packed, prove, written

from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.verify import verify

TINY = [0.0, 0.0, 1e-150, 1e-300, 1.4e-309, 5e-324]
STREAMS = ["tree", "scale", "sigma", "m", "tangent"]


def laws(rng: random.Random, draw: np.random.Generator, many: int, outputs: int) -> Floats:
    """Rows, at times with zeros and the least doubles among them."""
    rows = draw.dirichlet(np.full(outputs, rng.choice([0.3, 1.0, 5.0])), size=many)
    if rng.random() < 0.5:
        rows[draw.random(rows.shape) < 0.3] = rng.choice(TINY)
        rows[rows.sum(axis=1) < 1e-3, rng.randrange(outputs)] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def leaked(draw: np.random.Generator, problem: Problem, tries: int = 40) -> float:
    """The most that some priors leak, all of which the adversary may hold."""
    rho, q = np.concatenate(problem.rho), np.concatenate(problem.laws)
    of = np.repeat(np.arange(len(problem.rho)), [len(r) for r in problem.rho])
    most = 0.0
    for share in np.linspace(0, 1, tries):
        far = draw.dirichlet(np.full(len(rho), 0.3))
        pi = (1 - share) * rho + share * far
        if (pi[pi > 0] * np.log(pi[pi > 0] / rho[pi > 0])).sum() > problem.knowledge - 1e-12:
            continue
        z = np.stack([(pi * (of == a)) @ q for a in range(len(problem.rho))])
        product = z.sum(axis=1, keepdims=True) * z.sum(axis=0)
        positive = (z > 0) & (product > 0)
        most = max(most, float((z[positive] * np.log(z[positive] / product[positive])).sum()))
    return most


def any_tree(rng: random.Random, problem: Problem) -> Json:
    """Random codes, some of which name empty boxes, and random numbers."""
    codes: list[int] = []
    many, kept = 1, rng.randint(1, 60)
    while many:
        cut = [rng.random() < (0.8 if len(codes) < kept else 0.0) for _ in range(many)]
        ends = [problem.boxes, problem.boxes, problem.boxes + 1]
        codes += [rng.randrange(problem.boxes) if c else rng.choice(ends) for c in cut]
        many = 2 * sum(cut)
    return numbered(rng, problem, codes)


def numbered(rng: random.Random, problem: Problem, codes: list[int]) -> Json:
    """A proof of these codes with random numbers at the leaves."""
    size = rng.choice([0, 8, 127])
    leaves = [
        Leaf(
            rng.choice([0, 0, 3]),
            rng.randint(-60, 60),
            [rng.randint(-size, size) for _ in range(problem.boxes)],
            rng.randrange(max(1, len(problem.tangents))),
        )
        for _ in range(codes.count(problem.boxes))
    ]
    return written(problem, codes, leaves, 0.0)


def honest(rng: random.Random, problem: Problem, claim: float) -> Json:
    """A proof of a claim that may hold; a random tree where none is found soon."""
    try:
        with np.errstate(all="ignore"):
            return prove(problem, claim, rng.randrange(99), nodes=150)
    except (AssertionError, ValueError, OverflowError):
        return any_tree(rng, problem)


def some_bytes(rng: random.Random, content: bytes) -> bytes:
    """Change, drop, add or swap some bytes."""
    found = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(found) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            found[i : i + 1] = bytes([rng.choice([0, 1, 2, 3, 4, 5, 127, 128, 255, rng.randrange(256)])])
        elif kind == 1:
            del found[i : i + rng.choice([1, 4])]
        elif kind == 2:
            found[i:i] = bytes(rng.choice([1, 4]))
        else:
            found[i:i] = found[: rng.randint(0, 8)]
    return bytes(found)


def change_stream(rng: random.Random, proof: Json) -> None:
    """Other bytes, or other packing."""
    key = rng.choice(STREAMS)
    part = proof if key == "tree" else proof["leaves"]
    try:
        raw = base64.b64decode(part[key])
        content = zlib.decompress(raw)
    except (KeyError, TypeError, ValueError, zlib.error):  # missing, or changed before
        part[key] = packed(bytes(rng.randint(0, 9)))
        return
    part[key] = rng.choice([
        lambda: packed(some_bytes(rng, content)),
        lambda: packed(some_bytes(rng, content)),
        lambda: base64.b64encode(some_bytes(rng, raw)).decode(),
        lambda: base64.b64encode(raw[: rng.randrange(len(raw) + 1)]).decode(),
        lambda: base64.b64encode(raw + raw).decode(),
        lambda: base64.b64encode(zlib.compress(content + bytes(10**6))).decode(),
        lambda: packed(bytes([rng.randrange(6)]) * 10**6),
        lambda: rng.choice([7, None, [], "", "é", "AAAA", part[key] + "="]),
    ])()  # fmt: skip


def change_frame(rng: random.Random, proof: Json) -> None:
    """Other groups, eta, tangents or ratios."""
    outputs = len(proof["groups"])
    tilt = rng.choice([0.0, 1.0, 1e3, 1e300])
    table = [[rng.gauss(0, 1) * tilt for _ in range(outputs)] for _ in range(rng.randint(1, 4))]
    key, value = rng.choice([
        ("ratios", rng.choice([True, False, 1, None])),
        ("eta", rng.choice([0.0, 1e-300, 0.01, 0.5, 1.0, 7.0, -1.0])),
        ("groups", [rng.randrange(outputs) for _ in range(outputs)]),
        ("groups", list(range(outputs))),
        ("tangents", [table] * rng.randint(0, 3)),
        ("leaves", {**proof["leaves"], "bytes": rng.choice([1, 2, 4, 3, 0, None])}),
    ])  # fmt: skip
    proof[key] = value


CHANGES: list[Callable[[random.Random, Json], None]] = [change_stream, change_stream, change_frame]


def case(rng: random.Random) -> str:
    """One forged certificate."""
    draw = np.random.default_rng(rng.getrandbits(32))
    values, cells, outputs = rng.choice([1, 2, 2, 3, 4]), rng.randint(1, 3), rng.randint(2, 4)
    rows = laws(rng, draw, values * cells, outputs)
    knowledge = rng.choice([1e-4, 0.05, 0.3, 2.0])
    groups = list(range(outputs)) if rng.random() < 0.6 else [rng.randrange(outputs) for _ in range(outputs)]
    tangents = [draw.normal(size=(values, outputs)) for _ in range(rng.randint(1, 3))]
    parts = [rows[a * cells : (a + 1) * cells] for a in range(values)]
    rho = [np.full(cells, 1.0 / len(rows))] * values
    problem = Problem(parts, rho, knowledge, groups, 1.0, tangents, rng.random() < 0.5)
    truth = leaked(draw, problem)
    true = rng.random() < 0.3
    claim = truth + 10.0 ** rng.uniform(-3, 0) if true else truth - min(truth, 10.0 ** rng.uniform(-9, -1))
    proof = rng.choice([honest, lambda *_: any_tree(rng, problem)])(rng, problem, claim if true else claim + 0.3)
    proof = copy.deepcopy(proof)
    for _ in range(rng.choice([0, 1, 1, 3]) if not true else rng.choice([0, 1])):
        rng.choice(CHANGES)(rng, proof)
    proof["upper"] = claim
    masses = [[float(t // cells == a) for t in range(len(rows))] for a in range(values)]
    data = {
        "format": "dalenius/audit-certificate", "version": 2, "form": "rows",
        "problem": {"records": [values, cells], "classes": None, "rows": rows.tolist()},
        "adversary": {"knowledge": knowledge}, "secret": {"kind": "records", "records": [0]},
        "lower": 0.0, "upper": claim, "witness": {"kind": "masses", "masses": masses}, "proofs": [proof],
    }  # fmt: skip
    with sized(numpy_leaves=rng.choice([0, 2**40])):
        verdict = verify(data)
    assert "cannot be checked" not in verdict.reason, verdict.reason
    assert not verdict.verified or claim >= truth - 1e-13, f"{truth!r} is leaked, and {claim!r} was verified: {data}"
    return "verified" if verdict.verified else "refused"
