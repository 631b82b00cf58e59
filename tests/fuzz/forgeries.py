"""Forgeries with a plan: a certificate shown as being about another mechanism, or data that want to hang or abort.

Another mechanism: a real certificate, at times with points, groups or words of the forger's own, is shown together with
a mechanism that is nearly the same channel. It must not pass, unless the two are one channel, judged by their rows.
Data: sizes and numbers at the verifier's limits, in a child process with little memory and time. There must be an
answer in time, and never 'verified' where a false bound is claimed.
Outside: independent records that a reference with zeros says nothing of, in every form of witness.
Counts: honest counts of samples, of which some output has two columns; the same under two names nobody could tell.
Digits: a record that a mechanism rounds to steps says by its digits what the others are, and proofs that are true of
its steps, of every kind, are shown as proofs about the record.
Several: proofs of one release that tells less, or on points and by groups of the forger's, are shown as proofs about
several releases of one count.
Chosen: honest proofs of two releases are shown as proofs about a second one that is chosen by the output of the first.
"""

import copy
import itertools
import json
import math
import random
import re
import time
from functools import cache

import brute_force
import large_samples
import numpy as np
from kinds import Json

import dalenius as dl
from dalenius.model.channels.joint import Joint
from dalenius.model.channels.sampled import Counted, sampled
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.settings import only
from dalenius.verifier.verify import verify_here
from fuzz import certificates, judge, pool

GRACE = 1.0  # seconds beyond the time limit
FAR = [-1e200, 1e200, 1e-200, 5e-324, 2e200, 0.0, -1e308]

SPELLINGS = {  # mechanisms of count(n=2) with real outputs: other words for other laws, and for the same ones
    "laplace(epsilon=1, output='real')": "laplace(epsilon=2, sensitivity=2, output='real')",
    "laplace(epsilon=0.5, output='real')": "laplace(epsilon=1.5, sensitivity=3, output='real')",
    "laplace(epsilon=1.0000000000000002, output='real')": "",
    "gaussian(sigma=0.1, output='real')": "",
    "gaussian(sigma=10, output='real')": "",
    "laplace(epsilon=1)": "",
}


def case(rng: random.Random) -> str:
    kinds = [shown_as_another, shown_as_another, real_points, greedy, digits, outside, outside, counted_twice]
    return rng.choice([*kinds, several, chosen])(rng)


def shown_as_another(rng: random.Random) -> str:
    """A certificate shown with a mechanism whose rows are others: one number, one word or two records changed."""
    sample = rng.choice([s for s in pool.samples().values() if "problem" in s.data and "audit" not in s.data])
    data = copy.deepcopy(sample.data)
    problem = {k: v for k, v in data["problem"].items() if k != "quadrature"}
    mine, other = judge.mechanism_of(problem), judge.mechanism_of(_changed(rng, problem))
    same = mine.describe() == other.describe() or _same_rows(mine, other)
    # A channel above what was sampled is another thing than that channel itself.
    same &= "samples" not in problem
    verdict = verify_here(data, other)
    assert verdict.verified <= same, f"{mine.describe()} passed for {other.describe()}"
    return "the same" if verdict.verified else "refused"


def _changed(rng: random.Random, problem: Json) -> Json:
    changed = copy.deepcopy(problem)
    if "samples" in changed:
        return changed
    if "rows" in changed:
        row = rng.choice(changed["rows"])
        i, j = rng.sample(range(len(row)), 2)
        step = min(row[i], 10.0 ** -rng.randint(1, 17))
        row[i], row[j] = row[i] - step, row[j] + step
        return changed

    def near(found: re.Match[str]) -> str:
        value = float(found[1]) * (1 + rng.choice([-1, 1]) * 10.0 ** -rng.randint(1, 17))
        return found[0] if value == float(found[1]) else f"={value!r}"

    if "releases" in changed:
        first, *others = changed["releases"]
        return {**changed, "releases": [re.sub(r"=([0-9.e+-]+)", near, first, count=1), *others]}
    changed["mechanism"] = re.sub(r"=([0-9.e+-]+)", near, changed["mechanism"], count=1)
    return changed


def _same_rows(mine: dl.Mechanism, other: dl.Mechanism) -> bool:
    """Whether two channels over the same records have the same matrix, number by number."""
    try:
        return mine.records == other.records and bool(np.array_equal(mine.matrix(), other.matrix()))
    except dl.InputError:  # never written out, or real
        return False


def real_points(rng: random.Random) -> str:
    """Real outputs: the points are the forger's, and the mechanism is another."""
    words, others = rng.sample(sorted(SPELLINGS), 2)
    if "real" not in words:
        words, others = others, words
    query = parse_query("count(n=2)")
    audit = dl.audit(parse_mechanism(words, query), knowledge=0.5, tolerance=1e-2)
    data = json.loads(audit.certificate.text())
    data["witness"].setdefault("quadrature", data["problem"]["quadrature"])
    points = data["problem"]["quadrature"] = dict(data["problem"]["quadrature"])
    for key in rng.sample(sorted(points), rng.randint(0, len(points))):
        points[key] = rng.choice(FAR) if key in ("first", "step", "angle", "slack") else points[key]
    if rng.random() < 0.5 and "first" in points:
        points |= {"first": -1e200, "step": 2e200, "count": 2}
    data["upper"] = 0.7
    data["proofs"] = [{"record": 0, "kind": "trivial", "upper": 0.69314718056}]
    verdict = verify_here(data, parse_mechanism(others, query))
    assert not verdict.verified, f"{words} passed for {others}: {data['problem']}"
    if SPELLINGS[words] and rng.random() < 0.3:
        assert dl.verify(audit, parse_mechanism(SPELLINGS[words], query)).verified
    return "refused"


def tied(n: int, rate: float) -> tuple[float, float]:
    """What a prior leaks of n records in two steps, whose first says by its digits how many others are 1; its D."""
    sums = np.array([0.5, *[1.0] * (n - 1), 0.5]) / n
    away = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    rows = np.exp(-rate * away)
    rows /= rows.sum(axis=1, keepdims=True)
    told = float((sums[:, None] * rows * np.log(rows / (sums @ rows))).sum())
    return told, sum(math.log(2 ** (n - 1) / math.comb(n - 1, s)) for s in range(n)) / n


WHOLE = ["", "simplices", "posteriors", "rows", "monotone", "choices", "formulas", "convex"]


@cache
def of_steps(n: int, rate: float, kind: str) -> Json:
    """A certificate about the steps, by this kind of proof if there is one."""
    known = {"knowledge": tied(n, rate)[1] + 0.01, "reference": [0.5, 0.5], "tolerance": 1e-2, "time_limit": 0.5}
    settings = dl.Settings(portfolio=only(kind)) if kind else dl.Settings()
    query, noise = f"total(n={n}, values=[0, 1])", f"geometric(epsilon={rate})"
    mechanism = large_samples.both(noise, query)[kind not in ("", "formulas")]
    return json.loads(dl.audit(mechanism, **known, settings=settings).certificate.text())


def digits(rng: random.Random) -> str:
    """Proofs about steps inside, as they are or with parameters of the forger's own, in the place of a real record."""
    n, rate = rng.choice([6, 10]), rng.choice([2.0, 6.0])
    told, knowledge = tied(n, rate)
    inside = copy.deepcopy(of_steps(n, rate, rng.choice(WHOLE)))
    known = inside["adversary"]["knowledge"]
    if rng.random() < 0.5:
        points = rng.choice([2, 3, n + 1])
        inside["proofs"] = [{
            "record": 0, "kind": "monotone", "steps": [{
                "step": "points", "first": 0, "every": rng.choice([1, n // (points - 1), n]), "beyond": 0.1,
                **rng.choice([{}, {"order": 1 + 10.0 ** rng.uniform(-2, 9)}, {"told": "secret"}]),
            }],
            "rho": [rng.gauss(0, 1) for _ in range(points)], "s": 10.0 ** rng.uniform(-3, 1), "rounds": 20,
            # Keys of a step say nothing outside of it.
            **rng.choice([{}, {}, {"told": "secret", "order": 2.0, "every": 1, "first": 0}]),
        }]  # fmt: skip
    elif rng.random() < 0.5:
        certificates.redraw(rng, inside)
    # Below what is told, and far above what the steps tell.
    claim = told - 10.0 ** rng.uniform(-6, -1) if rng.random() < 0.7 else inside["upper"]
    for at in (inside, *inside["proofs"]):
        at["upper"] = claim
    inside["lower"] = min(inside["lower"], claim)
    proof = {"record": 0, "kind": "stepped", "cells": 1, "upper": claim, "audit": inside}
    problem = {"query": f"real_sum(n={n}, low=0, high=1)", "mechanism": f"geometric(epsilon={rate}, step=1)"}
    adversary = {"knowledge": known}
    data = {**inside, "problem": problem, "adversary": adversary, "lower": 0.0, "proofs": [proof]}
    data["witness"] = {"record": 0, "cells": 1, "audit": of_steps(n, rate, "")}
    verdict = verify_here(data)
    assert not verdict.verified or claim >= told, f"{json.dumps(data)}: {told!r} is leaked for {knowledge!r}"
    return "digits: true" if verdict.verified else "digits: refused"


def with_zeros(rng: random.Random, k: int) -> list[float]:
    """A law of k values, some of them without mass."""
    weights = [rng.choice([0.0, 1.0, rng.random()]) for _ in range(k)]
    total = sum(weights)
    return [w / total for w in weights] if total else with_zeros(rng, k)


def best_inside(mechanism: dl.Mechanism, laws: list[list[float]]) -> float:
    """The most that independent records leak that all have values with mass: the others are then known."""
    cube, best = mechanism.matrix().reshape(*mechanism.records, -1), 0.0
    support = [[v for v, p in enumerate(law) if p] for law in laws]
    for i, own in enumerate(support):
        for others in itertools.product(*support[:i], *support[i + 1 :]):
            rows = np.moveaxis(cube, i, 0)[(own, *others)]
            best = max(best, brute_force.capacity(rows, 1e-7)[1])
    return best


def outside(rng: random.Random) -> str:
    """A witness of any form whose record, or others, may be where the reference has no mass."""
    names = [name for name in pool.samples() if name.startswith("independent")]
    data = copy.deepcopy(pool.samples()[rng.choice(names)].data)
    mechanism, witness = judge.mechanism_of(data["problem"]), data["witness"]
    n, k = len(mechanism.records), mechanism.records[0]
    # Sums and counts that are not written out are held by one law of all records.
    alone = data["form"] not in ("rows", "samples")
    common = rng.random() < (0.8 if alone else 0.5)
    laws = [with_zeros(rng, k)] * n if common else [with_zeros(rng, k) for _ in range(n)]
    truth = best_inside(mechanism, laws)
    data["adversary"] = {
        "independent": True,
        "knowledge": rng.choice([99.0, 99.0, 99.0, 0.0, rng.random()]),
        "reference": {"marginal": laws[0]} if common else {"marginals": laws},
    }
    if "beside" not in witness and rng.random() < 0.2:
        witness.pop("others", None)
        witness["beside"], witness["kind"] = [], "leaning"
    record = witness["record"] = rng.randrange(n)
    inside = rng.random() < 0.3
    law = [p if q or not inside else 0.0 for p, q in zip(with_zeros(rng, k), laws[record], strict=True)]
    witness["law"] = rng.choice([law, [1 / k] * k, [1 / k] * k, laws[record]])
    if "beside" in witness:
        witness["beside"] = rng.choice([with_zeros(rng, k), laws[0]])
    if "others" in witness:
        x = [rng.choice([v for v in range(k) if law[v] or not inside]) for law in laws]
        counts = [sum(v == a for j, v in enumerate(x) if j != record) for a in range(k)]
        table = "query" not in data["problem"]
        witness["others"] = x if table or (not common and rng.random() < 0.9) else counts
    # Proofs that nobody doubts: it is the witness that lies.
    data["proofs"] = [{"record": i, "kind": "trivial", "upper": 2.0} for i in range(n)]
    above = truth + 10.0 ** rng.uniform(-8, -1)
    data["upper"], data["lower"] = 2.0, rng.choice([truth * rng.random(), above, above, above])
    verdict = verify_here(data)
    assert not verdict.verified or data["lower"] <= truth + judge.SLACK, f"{json.dumps(data)}: {truth!r} is the most"
    return "outside: true" if verdict.verified else "outside: refused"


def counted_twice(rng: random.Random) -> str:
    """Counts in which one output has two columns, in one part or in two, and names that do not tell it."""
    k, width = rng.randint(2, 3), rng.randint(1, 4)
    law = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(width + 1), size=k)
    counts = np.floor(law[:, :width] * 10**6).astype(np.int64)
    again = rng.randrange(width)
    names: list[Json] = list(range(width))
    columns = [counts, counts[:, [again]]]
    called = [names, [float(again) if rng.random() < 0.5 else again]]  # 1.0 and 1 are one output
    if rng.random() < 0.5:  # in one part
        columns, called = [np.hstack(columns)], [called[0] + called[1]]
    parts = [
        Counted(1 / len(columns), (10**6,) * k, tuple(own), many) for own, many in zip(called, columns, strict=True)
    ]
    known = sampled(dl.queries.identity(k=k), 0.9, parts, np.arange(k))
    found = dl.audit(known, knowledge=rng.uniform(0.01, 2), tolerance=1e-2, time_limit=1, verify=False)
    data = copy.deepcopy(found.certificate.data)
    outputs = rng.choice(data["problem"]["samples"]["counted"])["outputs"]
    nameless = rng.random()
    if nameless < 0.2:
        outputs.pop()
    elif nameless < 0.4:
        outputs.append("one more")
    elif nameless < 0.6:
        outputs[-1] = rng.choice([None, [], {}, [None]])
    verdict = verify_here(data)
    assert not verdict.verified, f"{json.dumps(data)}: an output that was counted twice"
    return "counts: refused"


FALLING = ["geometric(epsilon=0.5)", "geometric(epsilon=1)", "laplace(epsilon=0.7)"]
NORMAL = ["gaussian(sigma=1.5)", "gaussian(sigma=3)", "discrete_gaussian(sigma=1.5)"]
BELL = ["exponential(epsilon=1)", "symmetric(flip=0.3)", "rounding(base=2)", "constant()"]
SEVERAL = {"query": "count(n=4)", "knowledge": 0.4}


@cache
def leaked(problem: str) -> float:
    """What several releases leak together, nearly, by their rows."""
    joint = judge.mechanism_of(json.loads(problem))
    return dl.audit(joint, knowledge=SEVERAL["knowledge"], tolerance=1e-3, time_limit=10, verify=False).lower


@cache
def of_two(names: tuple[str, ...]) -> Json:
    """A certificate about two releases that are run whatever comes of the first."""
    query = parse_query(SEVERAL["query"])
    joint = Joint.of(tuple(parse_mechanism(name, query) for name in names))
    assert joint is not None
    found = dl.audit(joint, knowledge=SEVERAL["knowledge"], time_limit=1, verify=False)
    return json.loads(found.certificate.text())


@cache
def of_one(noise: str, query: str) -> Json:
    """A certificate about one release, which is not written out."""
    large = large_samples.both(noise, query)[0]
    return json.loads(dl.audit(large, knowledge=SEVERAL["knowledge"], time_limit=0.5, verify=False).certificate.text())


def several(rng: random.Random) -> str:
    """A joint release of one count, with a proof of something else; no noise but geometric has a cone."""
    family = rng.choice([FALLING, FALLING, NORMAL, FALLING + NORMAL, FALLING + BELL])
    names = tuple(sorted(rng.choices(family, k=rng.choice([2, 2, 3]))))
    problem, many = {"query": SEVERAL["query"], "releases": list(names)}, len(names)
    truth = leaked(json.dumps(problem))
    step, proof = rng.choice([_by_rate, _by_mean, _by_points])(rng, names)
    claim = truth - 10.0 ** rng.uniform(-5, -1) if rng.random() < 0.7 else proof.get("upper", 0.7)
    proof = {**proof, "record": 0, "steps": [step, *proof.get("steps", ())], "upper": claim}
    # The groups 0..1 and 2..4 of every output: a witness that nobody doubts.
    witness = {"record": 0, "kind": "blocks", "blocks": [0], "masses": [[1.0], [1.0]], "cuts": [[2]] * many}
    data = {
        **of_one(FALLING[0], SEVERAL["query"]), "form": "releases", "lower": 0.0, "upper": claim,
        "problem": problem, "witness": witness, "proofs": [proof],
    }  # fmt: skip
    verdict = verify_here(data)
    assert not verdict.verified or claim >= truth - judge.SLACK, f"{json.dumps(data)}: {truth!r} is leaked"
    return "several: true" if verdict.verified else "several: refused"


def chosen(rng: random.Random) -> str:
    """A release that is chosen by the output of another, with an honest proof about that and one of the choices."""
    first, *choices = rng.choices(rng.choice([FALLING, NORMAL[:2]]), k=3)
    cut = rng.randint(1, 4)
    then = [[cut, choices[0]], [5 - cut, choices[1]]]
    problem = {"query": SEVERAL["query"], "releases": [first], "then": then}
    data, truth = copy.deepcopy(of_two((first, rng.choice(choices)))), leaked(json.dumps(problem))
    data |= {"lower": 0.0, "problem": problem}
    data["witness"] |= {"blocks": [0], "masses": [[1.0], [1.0]], "cuts": [[2]] * (1 + len(set(choices)))}
    verdict = verify_here(data)
    assert not verdict.verified or data["upper"] >= truth - judge.SLACK, f"{json.dumps(data)}: {truth!r} is leaked"
    return "chosen: true" if verdict.verified else "chosen: refused"


def _by_rate(rng: random.Random, names: tuple[str, ...]) -> tuple[Json, Json]:
    """One release of a rate that lies, or of that of the cone."""
    rate = sum(float(re.sub(r"[^0-9.]", "", name) or 1) for name in names) * rng.choice([1, 1 + 1e-12, 0.999, 0.5, 2])
    inside = of_one(f"geometric(epsilon={rng.choice([rate, 0.5])!r})", SEVERAL["query"])
    return {"step": "cone", "rate": rate}, inside["proofs"][0]


def _by_mean(rng: random.Random, names: tuple[str, ...]) -> tuple[Json, Json]:
    """One release on a lattice, with more noise than all have together or less."""
    g, sigma = rng.choice([1, 2, 4]), rng.choice([0.5, 1.0, 2.0])
    inside = of_one(f"discrete_gaussian(sigma={g * sigma!r}, clamp=False)", f"total(n=4, values=[0, {g}])")
    return {"step": "mean", "lattice": rng.choice([g, 2 * g]), "sigma": g * sigma}, inside["proofs"][0]


def _by_points(rng: random.Random, names: tuple[str, ...]) -> tuple[Json, Json]:
    """Points and groups of the forger's, at times those that an honest proof would have."""
    many, apart = rng.choice([2, 3, 5]), rng.choice([1, 1, 2, 4])
    groups = [[j for j, other in enumerate(names) if other == name] for name in dict.fromkeys(names)]
    if rng.random() < 0.3:
        groups = rng.choice([[list(range(len(names)))], [[j] for j in range(len(names))], groups[::-1], groups[1:]])
    outputs = math.prod(math.comb((many - 1) // apart + len(group), len(group)) for group in groups)
    step = {
        "step": "points", "first": rng.choice([0, 0, 1, -1]), "every": rng.choice([1, 2, 4 // (many - 1)]),
        "points": many, "outputs": apart, "releases": groups, "beyond": rng.choice([0.0, 0.1]),
        **rng.choice([{}, {}, {"order": 2.0}, {"told": "secret"}]),
    }  # fmt: skip
    rho = [rng.gauss(0, rng.choice([0.1, 2.0])) for _ in range(outputs)]
    return step, {"kind": "monotone", "rho": rho, "s": 10.0 ** rng.uniform(-2, 1), "rounds": rng.choice([0, 30])}


HUGE_QUERIES = [
    "count(n=4000)", "count(n=100000000)", "count(n=4194303)", "total(n=2000, values=[0, 1, 50])", "pairs(n=90)",
    "histogram(n=60, k=4)", "histogram(n=4194303, k=64)", "modular_sum(n=100000000, modulus=5000)", "count(n=12)",
    "identity(k=4194304)", "total(n=1, values=[0, 1099511627776])",
]  # fmt: skip
HUGE_MECHANISMS = [
    "geometric(epsilon=1)", "geometric(epsilon=1e-300)", "gaussian(sigma=1e300)", "laplace(epsilon=1e300)",
    "randomized_response(epsilon=1)", "exponential(epsilon=0.1)", "symmetric(flip=0.1)", "constant()",
    "laplace(epsilon=1e300, output='real')", "gaussian(sigma=1e-300, output='real')",
]  # fmt: skip


def greedy(rng: random.Random) -> str:
    """Small data that ask for much: memory, time, or an end of the process."""
    data = copy.deepcopy(pool.sample(rng)[1].data)
    data = data.get("certificate", data)
    inner = data.get("audit", data)
    inner["problem"] = {"query": rng.choice(HUGE_QUERIES), "mechanism": rng.choice(HUGE_MECHANISMS)}
    if rng.random() < 0.3:
        inner["problem"]["quadrature"] = {
            "first": rng.choice(FAR), "step": rng.choice(FAR), "count": 2**15, "angle": rng.choice(FAR), "slack": 0.1
        }  # fmt: skip
    inner["lower"] = 0.69
    if rng.random() < 0.5:
        inner["proofs"] = [{**proof, "kind": "trivial", "upper": 0.7} for proof in inner["proofs"]]
    time_limit = rng.choice([0.2, 1.0])
    begin = time.monotonic()
    verdict = dl.verify(data, memory=rng.choice([64, 128]), time_limit=time_limit)
    assert time.monotonic() - begin < time_limit + GRACE, "no answer in time"
    assert not verdict.verified
    return "not checked" if verdict.reason.startswith("not checked:") else "refused"
