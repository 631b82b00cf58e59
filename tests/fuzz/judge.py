"""What is true of a problem, found without certificates: every dataset written out, and search from many starts.

Whatever `attained` finds is attained by a prior, so no upper bound may undercut it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import brute_force
import numpy as np
from kinds import Floats, Json
from numpy.typing import NDArray
from scipy.optimize import minimize

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.sampled import Sampled
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.storage import mechanism_from
from dalenius.tools.composition import adaptive, compose

Integers = NDArray[np.int64]
SLACK = 1e-9  # rounding of the judge, who computes in floats
TINY = 1e-14


@dataclass(frozen=True)
class Posed:
    """Matrix over all datasets, the secrets as values of the datasets, rho, and the most that D(p || rho) may be."""

    matrix: Floats
    secrets: tuple[Integers, ...]
    rho: Floats
    knowledge: float

    def leakage(self, prior: Floats, labels: Integers) -> float:
        joint = np.zeros((labels.max() + 1, self.matrix.shape[1]))
        np.add.at(joint, labels, prior[:, None] * self.matrix)
        return brute_force.information(joint)

    def divergence(self, prior: Floats) -> float:
        """D(prior || rho) = sum rho phi(d), phi(d) = (1+d) log(1+d) - d, d = prior/rho - 1: accurate near rho."""
        inside = self.rho > 0
        d = prior[inside] / self.rho[inside] - 1
        phi = np.where(np.abs(d) < 1e-4, d**2 / 2 - d**3 / 6, 0.0)
        far = (np.abs(d) >= 1e-4) & (d > -1)  # phi(-1) = 1
        phi[d <= -1] = 1.0
        phi[far] = (1 + d[far]) * np.log1p(d[far]) - d[far]
        return float((self.rho[inside] * phi).sum())

    def allowed(self, prior: Floats) -> Floats:
        """Mix in as little of the reference as makes the prior one that the adversary may hold, rounding aside."""
        most = self.knowledge * (1 - 1e-9) - 1e-13
        if most <= 0:
            return self.rho
        if self.divergence(prior) <= most:
            return prior
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            fits = self.divergence((1 - middle) * prior + middle * self.rho) <= most
            low, high = (low, middle) if fits else (middle, high)
        return np.asarray((1 - high) * prior + high * self.rho)

    def attained(self, rng: random.Random, starts: int = 3) -> float:
        """The most that a few local searches find, of any of the secrets."""
        generator = np.random.default_rng(rng.getrandbits(32))
        return max(self._ascend(labels, generator) for labels in self.secrets for _ in range(starts))

    def _ascend(self, labels: Integers, rng: np.random.Generator) -> float:
        """max I(A;Y) over D(p || rho) <= knowledge by SLSQP from one random prior."""
        inside = np.flatnonzero(self.rho)
        rows, rho, values = self.matrix[inside], self.rho[inside], labels[inside]

        def objective(p: Floats) -> tuple[float, Floats]:
            p = np.maximum(p, TINY)
            joint = np.zeros((labels.max() + 1, rows.shape[1]))
            np.add.at(joint, values, p[:, None] * rows)
            joint = np.maximum(joint, 1e-300)
            share = np.log(joint / joint.sum(0))[values]
            gradient = (rows * share).sum(1) - np.log(joint.sum(1))[values]
            return -float(p @ gradient), -gradient

        def room(p: Floats) -> float:
            p = np.maximum(p, TINY)
            return self.knowledge - float((p * np.log(p / rho)).sum())

        constraints: list[dict[str, Any]] = [{"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like}]
        if math.isfinite(self.knowledge):
            slope = {"jac": lambda p: -np.log(np.maximum(p, TINY) / rho) - 1}
            constraints.append({"type": "ineq", "fun": room, **slope})
        begin = np.zeros_like(self.rho)
        begin[inside] = rng.dirichlet(np.full(inside.size, rng.choice([0.1, 0.5, 2.0])))
        begin = self.allowed(begin)
        found = minimize(
            objective, begin[inside], jac=True, method="SLSQP", bounds=[(0, 1)] * inside.size,
            constraints=constraints, options={"maxiter": 60, "ftol": 1e-12},
        )  # fmt: skip
        best = begin.copy()
        best[inside] = np.clip(np.nan_to_num(found.x), 0, 1)
        best = self.allowed(best / best.sum()) if best.sum() > 0 else begin
        return max(self.leakage(begin, labels), self.leakage(best, labels))


def uniform_knowledge(records: Sequence[int], adversary: Json) -> float:
    most = math.log(math.prod(records))
    return float(adversary["knowledge"] if "knowledge" in adversary else max(0.0, most - adversary["entropy"]))


def labels_of(records: Sequence[int], group: Sequence[int]) -> Integers:
    """The joint value of some records in every dataset, last record fastest."""
    digits = np.unravel_index(np.arange(math.prod(records)), tuple(records))
    labels = np.zeros(math.prod(records), dtype=np.int64)
    for i in group:
        labels = labels * records[i] + digits[i]
    return labels


def secret_values(records: Sequence[int], secret: Json) -> Integers:
    """The value of the secret of a certificate in every dataset: a group, a function of one, or of the dataset."""
    if "records" not in secret:
        return np.array(secret["values"])
    group = labels_of(records, secret["records"])
    return np.array(secret["values"])[group] if "values" in secret else group


def rho_of(records: Sequence[int], reference: Json) -> Floats:
    """The reference of a certificate as weights of the datasets."""
    if reference is None:
        weights = np.ones(math.prod(records))
    elif "weights" in reference:
        weights = np.array(reference["weights"], dtype=float)
    else:
        laws = reference["marginals"] if "marginals" in reference else [reference["marginal"]] * len(records)
        weights = np.ones(1)
        for law in laws:
            weights = np.outer(weights, np.array(law, dtype=float)).ravel()
    return np.asarray(weights / weights.sum())


def mechanism_of(problem: Json) -> Mechanism:
    """The channel that a certificate describes, or the one above it, by the code of the model and not the verifier."""
    if "samples" in problem:
        found = mechanism_from(problem)
        assert isinstance(found, Sampled)
        return found.above
    if "rows" in problem:
        return mechanism_from({**problem, "labels": list(range(len(problem["rows"][0])))})
    if "releases" in problem:
        # With rows, where they are few: by them the truth is found.
        query = parse_query(problem["query"])
        parts = [parse_mechanism(text, query) for text in problem["releases"]]
        if "then" not in problem:
            return compose(*parts)
        chosen = [parse_mechanism(name, query) for many, name in problem["then"] for _ in range(many)]
        return adaptive(parts[0], dict(zip(query.labels, chosen, strict=True)).__getitem__)
    return parse_mechanism(problem["mechanism"], parse_query(problem["query"]))


def posed(data: Json, mechanism: Mechanism) -> Posed:
    """The problem of an audit certificate."""
    records, secret = mechanism.records, data.get("secret")
    if secret is None:
        secrets = tuple(labels_of(records, [i]) for i in range(len(records)))
    else:
        secrets = (secret_values(records, secret),)
    rho = rho_of(records, data["adversary"].get("reference"))
    return Posed(mechanism.matrix(), secrets, rho, uniform_knowledge(records, data["adversary"]))
