"""An audit in Coq's words: a witness, and for every record a tree, or lines of rows where records are independent."""

import math
from itertools import product
from typing import Any

from dalenius.certificates.coq.question import (
    Problem,
    assumptions,
    bounded,
    defined,
    every_record,
    listed,
    number,
    preamble,
    read_problem,
    refuse,
    table,
)
from dalenius.certificates.coq.trees import upper_bound
from dalenius.model import checks
from dalenius.model.statistic import Sum

# Classes by the value of the record, for everything that the others may be.
Line = tuple[int, ...]


def audit(data: dict[str, Any]) -> list[str]:
    """Both bounds of an audit, against bounded knowledge or against every prior under which records are independent."""
    alone, adversary = "independent" in data["adversary"], data["adversary"]
    if alone and set(adversary) != {"independent"}:
        refuse("an adversary with independent records that knows more, or less, has none yet")
    problem = read_problem(data, ("rows", "sum") if alone else ("rows",))
    claims = (
        f"at most {float(data['upper'])!r} nats leak of any record, and at least {float(data['lower'])!r} of one.",
    )
    return [
        *(preamble(problem, "independent records", claims) if alone else bounded(problem, adversary, claims)),
        defined("lower", data["lower"]),
        defined("upper", data["upper"]),
        "",
        *(_laws(problem, data["witness"]) if alone else _prior(data["witness"])),
        *(_lines_bound if alone else upper_bound)(problem, data["proofs"]),
        *assumptions("lower_bound", "upper_bound"),
    ]


def _prior(witness: dict[str, Any]) -> list[str]:
    i = checks.whole("the record of the witness", witness["record"], 0)
    return [
        "(* A prior that is allowed, by value of the record and row, before division by its sum. *)",
        f"Definition witness : list (list number) := {table(witness['masses'])}.",
        "Theorem lower_bound : exists p, law sizes p /\\ (knowledge sizes p <= value limit)%R",
        f"  /\\ (value lower <= leakage sizes answer rows {i} p)%R.",
        "Proof.",
        "  apply audited_below; [vm_compute; reflexivity|].",
        "  apply (witness_proves _ _ witness). vm_cast_no_check (eq_refl true).",
        "Qed.",
        "",
    ]


def _laws(problem: Problem, witness: dict[str, Any]) -> list[str]:
    if witness["kind"] != "known":
        refuse(f"witnesses of the kind {witness['kind']!r} have none yet against independent records")
    i = checks.whole("the record of the witness", witness["record"], 0)
    values = list(witness["others"])
    if isinstance(problem.statistic, Sum):  # how many of the others have each value
        values = [v for v, many in enumerate(values) for _ in range(many)]
        values.insert(i, 0)
    laws = [[int(v == known) for v in range(k)] for known, k in zip(values, problem.records, strict=True)]
    laws[i] = witness["law"]
    return [
        "(* A law for every record, before division by its sum. *)",
        f"Definition witness : list (list number) := {table(laws)}.",
        "Theorem lower_bound : exists laws, are_laws sizes laws",
        f"  /\\ (value lower <= leakage sizes answer rows {i} (chance laws))%R.",
        "Proof. apply (known_proves _ _ _ _ witness). vm_cast_no_check (eq_refl true). Qed.",
        "",
    ]


def _lines_bound(problem: Problem, proofs: list[dict[str, Any]]) -> list[str]:
    """Lines of the records that have proofs, and the theorem about every record."""
    found: dict[int, dict[Line, list[float]]] = {}
    for proof in proofs:
        if proof["kind"] != "lines":
            refuse(f"the kind {proof['kind']!r} has none yet against independent records")
        lines, weights = _lines(problem, proof["record"]), proof["weights"]
        laws = weights * len(lines) if len(weights) == 1 else weights
        found[proof["record"]] = dict(zip(lines, laws, strict=True))
    texts = []
    for i, laws_of in found.items():
        pairs = ";\n".join(f"  ({listed(line)}, {listed(map(number, law))})" for line, law in laws_of.items())
        texts.append(f"Definition lines_{i} : list (list nat * list number) := [\n{pairs}].")

    def follows(j: int) -> str | None:
        known = next((i for i, laws_of in found.items() if set(_lines(problem, j)) <= set(laws_of)), None)
        proof = f"apply (lines_prove _ _ _ _ _ lines_{known}). vm_cast_no_check (eq_refl true)."
        return None if known is None else proof

    return [
        "(* The rows by the value of the record, for everything that the others may be, with laws of that value. *)",
        *texts,
        *every_record(
            problem,
            "laws, are_laws sizes laws ->",
            "(leakage sizes answer rows i (chance laws) <= value upper)%R.",
            follows,
        ),
    ]


def _lines(problem: Problem, record: int) -> list[Line]:
    """All lines in the order of a certificate: by the sum of the others, or their values."""
    sizes, statistic = problem.records, problem.statistic
    step = math.prod(sizes[record + 1 :])
    found: dict[Any, Line] = {}
    for place, x in enumerate(product(*map(range, sizes))):
        if x[record]:
            continue
        others: Any = x
        if isinstance(statistic, Sum):
            others = sum(statistic.contributions[v] for i, v in enumerate(x) if i != record)
            others = others if statistic.modulus is None else others % statistic.modulus
        found[others] = tuple(problem.classes[place + a * step] for a in range(sizes[record]))
    return [found[others] for others in sorted(found)]
