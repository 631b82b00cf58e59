"""Small certificates that need very much time or memory: each is answered within a second of its time limit.

`dl.verify` is asked in a process of its own, which knows how much memory its children took.
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable

from damage import damaged, golden
from kinds import Json

# Checks what comes in, line by line; prints whether it was verified, why not, the seconds, and the most MiB of a child.
ASKING = """
import json, resource, sys, time
import dalenius as dl
dl.verify({})
for line in sys.stdin:
    data, limits = json.loads(line)
    begin = time.monotonic()
    verdict = dl.verify(data, **limits)
    seconds = time.monotonic() - begin
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps([verdict.verified, verdict.reason, seconds, taken]), flush=True)
"""


def power(size: int) -> Json:
    """One power of a polynomial, a single call of FLINT, for every node of a witness that ties values to counts."""
    witness = {"window": [0, 8 * size], "masses": [1.0], "cuts": [1], "weights": [1, 2], "nodes": [0.1], "tilt": None}
    asked = {"problem.query": f"histogram(n={8 * size}, k=64)", "adversary": {"entropy": 0.0}, "lower": 0.0}
    return damaged("tied", {**asked, **{f"witness.{key}": value for key, value in witness.items()}})


def others(size: int) -> Json:
    """As many count vectors of the others as a number has that nobody can write down."""
    part = {"others": 10**6 - 1, "counted": True}
    named = {"query": f"histogram(n=1000000, k={20 + size % 40})", "mechanism": "unary_encoding(epsilon=1)"}
    return damaged("local", {"problem": named, "witness.part": part})


def far_apart(size: int) -> Json:
    """A sum whose answers are few and far apart, so that its range is very long."""
    return damaged("large", {"problem.query": f"total(n=12, values=[0, {size * 10**4}])"})


def uncut(size: int) -> Json:
    """The same with a witness that cuts nowhere."""
    prior = {"witness.blocks": [0], "witness.masses": [[0.5], [0.5]], "witness.cuts": [], "lower": 0.0}
    named = {"problem.query": f"total(n=2, values=[0, {size * 10**7}])", "problem.mechanism": "gaussian(sigma=3)"}
    return damaged("large", {**named, **prior})


def likely(size: int) -> Json:
    """Independent records of which only classes near the mean are looked at, with noise that reaches all outputs."""
    named = {"problem.query": f"count(n={min(size * 10**4, 10**8)})", "problem.mechanism": "gaussian(sigma=1e7)"}
    return damaged("independent-sum", named)


def answers(size: int) -> Json:
    """Points on a few of very many answers; the others are counted."""
    return damaged("large", {"problem.query": f"count(n={min(size * 10**4, 10**8)})"})


def factorials(size: int) -> Json:
    """Very many counts above the tops, and a binomial coefficient for every one."""
    asked = {"problem.query": f"histogram(n={16 * size}, k=2)", "adversary": {"entropy": 0.0}, "lower": 0.0}
    return damaged("counted", {**asked, "witness": golden("tied")["witness"]})


def texts(size: int) -> Json:
    """A text where a number is due, which a product would make long."""
    edges = [i / size for i in range(size + 1)]
    return damaged("real_records", {"witness.cells": "4" * 50 * size, "adversary.reference.edges": edges})


def lists(size: int) -> Json:
    """A list where a number is due, the same."""
    edges = [i / size for i in range(size + 1)]
    return damaged("real_records", {"witness.cells": [4] * size, "adversary.reference.edges": edges})


def values(size: int, **beside: object) -> Json:
    """One record of very many values, nearly all of which are outside of a window, so that each is an output."""
    many = 4 * size
    proof = {"kind": "posteriors", "groups": [0], "eta": 0.0, "tree": [0]}
    window = {"record": 0, "upper": 0.6, "steps": [{"step": "window", "rows": [0, 0], "outputs": [0, 0]}], **proof}
    return {
        "format": "dalenius/audit-certificate",
        "version": 2,
        "form": "rows",
        "problem": {"records": [many], "classes": [0] + [1] * (many - 1), "rows": [[1.0, 0.0], [0.0, 1.0]]},
        "adversary": {"entropy": 0.0},
        "lower": 0.0,
        "upper": 1e3,
        "witness": {"record": 0, "kind": "masses", "masses": [[1.0, 0.0], *([[0.0, 1.0]] * (many - 1))]},
        "proofs": [{**window, **beside}],
    }


def hidden(size: int) -> Json:
    """The same with a tree that no check reads."""
    return values(size, tree=[])


def rows(size: int) -> Json:
    """A short tree over 2^12 datasets: each leaf is a pass over 2^24 entries."""
    data = golden("choices")
    many = 2**12
    proof = {"kind": "choices", "upper": 0.6, "tree": [{"rho": [0.0] * many}] * (size // 1000)}
    return data | {
        "problem": {"query": "count(n=12)", "mechanism": "randomized_response(epsilon=1)"},
        "adversary": {"knowledge": 0.1},
        "witness": {"record": 0, "kind": "masses", "masses": [[1.0] * many, [1.0] * many]},
        "proofs": [{"record": 0, **proof}],
    }


BOMBS: dict[str, Callable[[int], Json]] = {
    bomb.__name__: bomb
    for bomb in (power, others, far_apart, uncut, likely, answers, factorials, texts, lists, values, hidden, rows)
}


class Asked:
    """What `dl.verify` says of a list of certificates, and what that took."""

    def __init__(self, asked: list[tuple[Json, dict[str, float]]]) -> None:
        lines = "".join(f"{json.dumps(one)}\n" for one in asked)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", ASKING], input=lines, capture_output=True, text=True, check=True
        )
        self.answers = [json.loads(line) for line in done.stdout.splitlines()]
        for (verified, reason, seconds, taken), (_, limits) in zip(self.answers, asked, strict=True):
            assert not verified, reason
            assert seconds <= limits["time_limit"] + 1, f"{seconds} s: {reason}"
            assert taken <= 1.1 * limits["memory"], f"{taken} MiB: {reason}"


def case(rng: random.Random) -> str:
    """A bomb of a random kind and size. Memory is not below what an interpreter with python-flint takes itself."""
    bomb = rng.choice(list(BOMBS.values()))
    limits = {"time_limit": rng.uniform(0.05, 0.5), "memory": rng.randint(64, 256)}
    ((_, reason, _, _),) = Asked([(bomb(rng.randint(1500, 6000)), limits)]).answers
    return "not checked" if reason.startswith("not checked:") else "refused"
