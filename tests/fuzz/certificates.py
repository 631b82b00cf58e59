"""Certificates changed by a stranger: never a false bound or a traceback, and always an answer in time.

Half of the cases first claim something false, a bound beyond the truth, and then look for a proof that passes.
"""

import atexit
import copy
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from kinds import Json

import dalenius as dl
from dalenius.model.gallery.parse import parse_query
from dalenius.model.reference import UNIFORM
from dalenius.verifier.verify import Verification, verify
from fuzz import judge, pool

TIME_LIMIT = 20.0  # seconds for one certificate
SLACK = 1e-12

NUMBERS = [0, -0.0, 1, -1, 2, 0.5, 1e-9, 5e-324, 1e-308, 1e308, -1e308, 10**400, -(10**400), 2**53 + 1, 2**63, 10**18]
JUNK: list[Json] = [None, True, False, "", "x", "1.0", "nan", [], {}, [[]], [{}], {"kind": "trivial"}, "\ud800", 0.0, 7]
DEEP = 3000
LONG = [2, 50, 3000]
LARGEST = 4 * 2**20  # bytes of a changed certificate


@cache
def folder() -> Path:
    """Where the certificate is while it is checked."""
    made = tempfile.TemporaryDirectory(prefix="fuzz")
    atexit.register(made.cleanup)
    return Path(made.name)


def checked(content: bytes) -> Verification:
    """What the verifier says of a file, in time and in a sentence."""
    path = folder() / "certificate.json"
    path.write_bytes(content)
    answer = verify(path, time_limit=TIME_LIMIT)
    assert answer.reason, "no reason"
    assert answer.seconds <= TIME_LIMIT + 1, f"{answer.seconds} s: {answer.reason}"
    return answer


# Changes of the data. Each takes the data and changes it in place.


def spot(rng: random.Random, data: Json, wanted: Callable[[Json], bool] = lambda _: True) -> tuple[Json, Any]:
    """A place (container, key) found by walking down, so that short fields are met as often as long lists."""
    for _ in range(50):
        at: Json = data
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = rng.choice(keys)
            inside = isinstance(at[key], (dict, list)) and at[key]
            if wanted(at[key]) and (not inside or rng.random() < 0.25):
                return at, key
            if not inside:
                break
            at = at[key]
    return data, rng.choice(list(data))


def is_number(x: Json) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def is_list(x: Json) -> bool:
    return isinstance(x, list) and len(x) > 0


def change_number(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data, is_number)
    x = at[key]
    if not is_number(x) or abs(x) > 1e300:
        return
    near = [x + 1, x - 1, -x, x * (1 + rng.choice([-1, 1]) * 10.0 ** -rng.randint(1, 16)), x + rng.uniform(-0.1, 0.1)]
    near += [
        math.nextafter(x, math.inf),
        math.nextafter(x, -math.inf),
        float(x),
        round(x),
        x * 10.0 ** rng.randint(-9, 9),
    ]
    at[key] = rng.choice(near if rng.random() < 0.7 else NUMBERS)


def redraw(rng: random.Random, data: Json) -> None:
    """Other parameters of a proof altogether, at another scale: any will do, and none may prove what is false."""
    proofs = proofs_of(data)
    if not proofs:
        return
    proof, scale = rng.choice(proofs), 10.0 ** rng.uniform(-4, 2)
    free = [key for key in proof if key not in ("record", "kind", "upper", "cells", "audit", "tree")]
    for key in rng.sample(free, rng.randint(0, len(free))):
        proof[key] = redrawn(rng, proof[key], scale)


def proofs_of(data: Json) -> list[Json]:
    """All proofs inside that are objects."""
    listed = [p for name, found in fields(data) if name == "proofs" and is_list(found) for p in found]
    return [p for p in listed if isinstance(p, dict)]


def restep(rng: random.Random, data: Json) -> None:
    """Steps that are not there, in another order, twice, about another channel; and often a kind that has few words."""
    proofs = proofs_of(data)
    if not proofs:
        return
    proof = rng.choice(proofs)
    steps = proof.get("steps") if isinstance(proof.get("steps"), list) else []
    new = [a_step(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    steps = rng.choice([new, new + steps, steps + new, steps * 2, steps[::-1], steps[1:]])
    for at in rng.choice([[proof], proofs]):
        at["steps"] = copy.deepcopy(steps)
        if rng.random() < 0.5:
            width = len(at["groups"]) if isinstance(at.get("groups"), list) else rng.randint(1, 6)
            at.update(
                rng.choice(
                    [
                        {"kind": "trivial"},
                        {"kind": "reference"},
                        {"kind": "choices", "tree": [{"rho": [rng.gauss(0, 1) for _ in range(width)]}]},
                        {
                            "kind": "monotone",
                            "s": 10.0 ** rng.uniform(-3, 2),
                            "rho": [rng.gauss(0, 1) for _ in range(width)],
                            "rounds": rng.choice([0, 3, 30]),
                        },
                    ]
                )
            )


def a_step(rng: random.Random) -> Json:
    """A step of any name, with numbers that may fit a small channel."""
    outputs, rows = rng.randint(1, 6), rng.randint(1, 8)
    return rng.choice(
        [
            {"step": "grid", "k": rng.choice([1, 2, 3, 7, 12])},
            {
                "step": "window",
                "rows": sorted([rng.randrange(rows), rng.randrange(rows)]),
                "outputs": sorted([rng.randrange(outputs), rng.randrange(outputs)]),
            },
            {
                "step": "order",
                "rows": rng.sample(range(rows), rows),
                "ranks": [rng.choice([list(range(outputs)), [0] * outputs, rng.sample(range(outputs), outputs)])],
            },
            {
                "step": "points",
                "first": rng.randint(-2, 3),
                "every": rng.randint(1, 4),
                "beyond": rng.choice([0.0, 0.1]),
                **rng.choice([{}, {"told": "secret"}, {"order": 1.5}]),
            },
            {"step": "rounding"},
            {"step": "cone", "rate": rng.choice([0.5, 0.9, 1.1])},
            {"step": "mean", "lattice": rng.randint(1, 3), "sigma": rng.uniform(0.5, 4)},
        ]
    )


def reform(rng: random.Random, data: Json) -> None:
    """Another form of the release, or another kind of witness."""
    forms = ["rows", "samples", "sum", "histogram", "per-record", "real-outputs", "real-records", "releases"]
    kinds = ["masses", "blocks", "tied", "counted", "part", "uniform", "cells", "known", "following", "leaning"]
    for name, value in list(fields(data)):
        if name == "witness" and isinstance(value, dict) and rng.random() < 0.5:
            value["kind"] = rng.choice(kinds)
    inner = data.get("certificate", data)
    inner.get("audit", inner)["form"] = rng.choice(forms)


def redrawn(rng: random.Random, x: Json, scale: float) -> Json:
    """Every number inside anew: whole ones up to a few times as large, others of a random sign or above 0."""
    if isinstance(x, list):
        return [redrawn(rng, y, scale) for y in x]
    if not is_number(x):
        return x
    if isinstance(x, int):
        return rng.randint(0, 2 * min(abs(x), 10**6) + 2)
    return rng.choice([rng.gauss(0, scale), x + rng.gauss(0, scale), abs(rng.gauss(0, scale)), 1 + scale])


def swap(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data, is_list)
    items = at[key]
    if is_list(items):
        i, j = rng.randrange(len(items)), rng.randrange(len(items))
        items[i], items[j] = items[j], items[i]


def drop(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data)
    del at[key]


def double(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data, is_list)
    if is_list(at[key]):
        at[key].insert(rng.randint(0, len(at[key])), copy.deepcopy(rng.choice(at[key])))


def replace(rng: random.Random, data: Json) -> None:
    """By what stands elsewhere, here or in another certificate, under the same name if there is one."""
    at, key = spot(rng, data)
    other = rng.choice([data, pool.sample(rng)[1].data])
    named = [value for name, value in fields(other) if name == key]
    source, where = spot(rng, other)
    at[key] = copy.deepcopy(rng.choice(named) if named and rng.random() < 0.8 else source[where])


def retype(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data)
    at[key] = copy.deepcopy(rng.choice(JUNK))


def stretch(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data, is_list)
    if is_list(at[key]):
        at[key] = at[key] * rng.choice(LONG) if len(at[key]) < 100 else at[key] * 2


def nest(rng: random.Random, data: Json) -> None:
    at, key = spot(rng, data)
    for _ in range(rng.choice([1, 40, DEEP // 10])):
        at[key] = [at[key]]


def reword(rng: random.Random, data: Json) -> None:
    """Change a digit or a letter of a call string or a kind."""
    at, key = spot(rng, data, lambda x: isinstance(x, str))
    if isinstance(at[key], str) and at[key]:
        k = rng.randrange(len(at[key]))
        at[key] = at[key][:k] + rng.choice("0123456789.,=()[]-e n") + at[key][k + rng.randint(0, 1) :]


def rename(rng: random.Random, data: Json) -> None:
    """Another query of the same classes, or one more argument, wherever a call string stands."""
    calls = {x for name, x in fields(data) if name in ("query", "mechanism") and isinstance(x, str) and x.endswith(")")}
    if not calls:
        return
    old = rng.choice(sorted(calls))
    more = rng.choice(["output='integer'", "output='real'", "clamp=False", "sensitivity=2", "scale=1", "step=2"])
    new = f"{old[:-1]}, {more})"
    if old.startswith("count(n="):
        high = rng.choice([1, 2, 1000])
        new = f"mean({old[6:-1]}, low=0, high={high}, step={high})"
    data.update(json.loads(json.dumps(data).replace(json.dumps(old), json.dumps(new))))


def widen(rng: random.Random, data: Json) -> None:
    """Claim less: stays true."""
    for at in claims(data):
        at["upper"] += rng.choice([0.0, 1e-6, 0.1])


def ask_more(rng: random.Random, data: Json) -> None:
    """Another adversary."""
    for name, at in fields(data):
        if name == "adversary" and isinstance(at, dict):
            for key in at.keys() & {"entropy", "knowledge"}:
                if is_number(at[key]) and abs(at[key]) < 1e300:
                    at[key] = abs(at[key] + rng.choice([-1, 1]) * 10.0 ** rng.randint(-16, 0))


def fields(data: Json) -> Iterator[tuple[Any, Json]]:
    """Every named value inside, outermost first."""
    items = list(data.items()) if isinstance(data, dict) else [(None, v) for v in data if isinstance(v, (dict, list))]
    for name, value in items:
        if name is not None:
            yield name, value
        if isinstance(value, (dict, list)):
            yield from fields(value)


def claims(data: Json) -> Iterator[Json]:
    """Everything that claims an upper bound of the leakage."""
    inner = data.get("certificate", data)
    if "audit" in inner:
        yield inner
        inner = inner["audit"]
    yield inner
    yield from inner["proofs"]


CHANGES = [change_number] * 8 + [swap, swap, drop, double, double, replace, replace, replace, retype, stretch, nest]
CHANGES += [reword, ask_more, ask_more, redraw, redraw, redraw, restep, restep, restep, reform, rename, rename]


def forge(rng: random.Random, sample: pool.Sample, data: Json) -> None:
    """Claim a bound beyond the truth, everywhere where it is claimed."""
    step = 10.0 ** rng.uniform(-9, -1)
    inner = data.get("certificate", data)
    if rng.random() < 0.3:
        inner["lower"] = sample.upper + step
        inner["upper"] = max(inner["upper"], inner["lower"])
        sharper = 1 + 10.0 ** rng.uniform(-3, 0)  # a witness that knows more
        witness = inner.get("audit", inner)["witness"]
        # Laws and counts are flat lists, and a uniform witness lists nothing.
        for key in {"masses", "law"} & witness.keys():
            witness[key] = [
                [m**sharper for m in row] if isinstance(row, list) else row**sharper for row in witness[key]
            ]
        return
    below = sample.lower - step
    for at in claims(data):
        at["upper"] = min(at["upper"], below)
    inner["lower"] = min(inner["lower"], below)


# Changes of the text.


def literal(rng: random.Random, text: str) -> str:
    """NaN, Infinity or a very long integer in place of a number."""
    new = rng.choice(["NaN", "Infinity", "-Infinity", "1" + "0" * 400, "9" * 5000, "1e999", "-0", "1E+2", "01", "+1"])
    starts = [i for i in range(1, len(text)) if text[i - 1] in "[:, " and text[i] in "0123456789"]
    i = rng.choice(starts or [0])
    end = next((j for j in range(i, len(text)) if text[j] in ",]} "), len(text))
    return text[:i] + new + text[end:]


def repeat_key(rng: random.Random, text: str) -> str:
    """The same key twice in one object."""
    key = rng.choice(["upper", "lower", "kind", "record", "tree", "rho", "knowledge", "entropy", "rows"])
    i = rng.choice([k for k, c in enumerate(text) if c == "{"] or [0])
    return f'{text[: i + 1]}"{key}":{rng.choice(["0.0", "1", "[]", "null"])},{text[i + 1 :]}'


def cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def bury(rng: random.Random, text: str) -> str:
    deep = rng.choice([10, 900, DEEP, 200_000])
    return "[" * deep + text + "]" * deep


def as_bytes(rng: random.Random, text: str) -> bytes:
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if content and rng.random() < 0.03:
        content[rng.randrange(len(content))] = rng.randrange(256)
    return rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x00"]) + content if rng.random() < 0.01 else bytes(content)


def read(content: bytes) -> Json:
    """As the verifier sees it."""
    data = json.loads(content)
    return data.get("certificate", data) if data.get("format") in ("dalenius/audit", "dalenius/design") else data


def question(data: Json) -> str:
    """All that the truth depends on."""
    data = data.get("certificate", data)
    if "audit" in data:
        inside = data["audit"]["problem"]
        parts = [data["problem"], inside.get("query"), inside.get("records"), data["adversary"], data["budget"]]
        return json.dumps(parts, sort_keys=True)
    problem = {k: v for k, v in data["problem"].items() if k != "quadrature"}
    return json.dumps([problem, data["adversary"], data.get("secret")], sort_keys=True)


def judged(rng: random.Random, sample: pool.Sample, data: Json) -> str:
    """Assert that an accepted certificate is true."""
    lower, upper = data["lower"], data["upper"]
    said = f"[{lower!r}, {upper!r}] accepted"
    assert lower <= upper, said
    judge_blocks(data)
    if question(data) == question(sample.data):
        assert lower <= sample.upper + SLACK, f"{said} where the truth is at most {sample.upper!r}"
        assert upper >= sample.lower - SLACK, f"{said} where the truth is at least {sample.lower!r}"
        return "accepted"
    low, high = another(rng, data)
    said += f" of {json.dumps([data['problem'], data['adversary'], data.get('secret')])[:300]}"
    assert lower <= high + judge.SLACK, f"{said} where the truth is at most {high!r}"
    assert upper >= low - judge.SLACK, f"{said} where the truth is at least {low!r}"
    return "accepted of another problem"


def judge_blocks(data: Json) -> None:
    """Assert that a mechanism on blocks of a count leaks and costs no more than is said, with its rows written out."""
    audit = data.get("audit", {})
    if "blocks" not in audit.get("problem", {}):
        return
    query = parse_query(audit["problem"]["query"])
    answers, starts = np.arange(query.statistic.size), audit["problem"]["blocks"]
    rows = np.array(audit["problem"]["rows"])[np.searchsorted(starts, answers, side="right") - 1]
    mechanism = dl.Mechanism.from_rows(query, (rows / rows.sum(axis=1, keepdims=True)).tolist())
    found = dl.audit(mechanism, **data["adversary"], time_limit=0.5, verify=False)
    assert audit["upper"] >= found.lower - SLACK, f"{audit['upper']} accepted where {found.lower} is attained"
    away = np.abs(np.subtract.outer(answers, data["problem"]["outputs"]))
    error = away if data["problem"]["distortion"] == "absolute" else away**2
    cost = np.exp(UNIFORM.log_classes(query.statistic)) @ (rows * error).sum(axis=1)
    assert data["distortion"] >= cost - SLACK, f"{data['distortion']} accepted where the cost is {cost}"


def another(rng: random.Random, data: Json) -> tuple[float, float]:
    """The truth about a problem that nobody had asked: the solver's bracket, and brute force where that is possible."""
    options = {k: v for k, v in data["adversary"].items() if k != "reference"}
    if independent := options.pop("independent", False):
        options["adversary"] = "independent"
    if "audit" in data and "query" not in data["problem"]:
        # A design beside an earlier release: nobody else knows its optimum.
        return 0.0, math.inf
    if "audit" in data:
        budget = {k: float(v) for k, v in data["budget"].items()}
        kept = {k: k for k in ("max_epsilon", "floor", "unbiased", "within", "keep_zero", "outputs")}
        kept["distortion"] = "measure"
        budget |= {kept[k]: v for k, v in data["problem"].items() if k in kept}
        design = dl.design(parse_query(data["problem"]["query"]), **budget, **options, tolerance=1e-3, time_limit=2)
        return design.lower, design.upper
    mechanism = judge.mechanism_of({k: v for k, v in data["problem"].items() if k != "quadrature"})
    if (secret := data.get("secret")) is not None:
        if "edges" in secret:  # of a real-valued record, as `dl.audit` takes them: without the ends
            options["secret"] = {"record": secret["record"], "edges": secret["edges"][1:-1]}
        elif "values" in secret:
            options["secret"] = judge.secret_values(mechanism.records, secret)
        else:
            options["secret"] = secret["records"]
    if (reference := data["adversary"].get("reference")) is not None:
        density = "edges" in reference
        options["reference"] = (reference["edges"], reference["masses"]) if density else next(iter(reference.values()))
    audit = dl.audit(mechanism, **options, tolerance=1e-3, time_limit=1)
    if "samples" in data["problem"]:  # of what stands above, and nothing from below
        return audit.lower, 0.0
    # Brute force knows priors in a ball, not those under which records are independent.
    if independent or "rows" not in data["problem"] or math.prod(mechanism.records) > 64:
        return audit.lower, audit.upper
    return max(audit.lower, judge.posed(data, mechanism).attained(rng)), audit.upper


def case(rng: random.Random) -> str:
    _, sample = pool.sample(rng)
    data = copy.deepcopy(sample.data)
    forged = rng.random() < 0.5
    if forged:
        forge(rng, sample, data)
    elif rng.random() < 0.3:
        widen(rng, data)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        rng.choice(CHANGES)(rng, data)
    try:
        text = json.dumps(data, separators=(",", ":"))
    except RecursionError:
        text = "[" * DEEP
    if rng.random() < 0.15:
        text = rng.choice([literal, repeat_key, cut, bury])(rng, text)
    content = as_bytes(rng, text[:LARGEST])
    answer = checked(content)
    if not answer:
        known = {"it cannot be checked": "refused by catching", "not checked:": "not checked"}
        return next((outcome for words, outcome in known.items() if answer.reason.startswith(words)), "refused")
    return judged(rng, sample, read(content))
