"""Certificates of several releases, changed by a stranger: what is still accepted must be true of its releases."""

import copy
import json
import random
from functools import cache

from kinds import Json

import dalenius as dl
from dalenius.verifier.verify import verify_here
from fuzz import certificates, judge

SLACK = 1e-9
# Changes that keep the text short: every certificate is checked in this process.
CHANGES = [certificates.change_number] * 6 + [
    certificates.swap, certificates.drop, certificates.double, certificates.retype, certificates.reword,
    certificates.ask_more,
]  # fmt: skip


@cache
def _text(knowledge: float | None) -> str:
    against: Json = {"adversary": "independent"} if knowledge is None else {"knowledge": knowledge}
    # So many people that counts are never written out.
    ledger = dl.Ledger(columns={"y": 2, "a": 2, "b": 3}, n=30, **against)
    ledger.release(dl.mechanisms.geometric(dl.queries.histogram(n=30, k=4), epsilon=1.0), columns=["y", "a"])
    one = dl.mechanisms.geometric(dl.queries.histogram(n=30, k=6), epsilon=0.5)
    ledger.release(one, columns=["y", "b"])
    found = ledger.release(one, columns=["y", "b"]).certificate
    assert found is not None
    return found.text()


def honest(knowledge: float | None) -> Json:
    """Three releases about thirty people, two of them alike."""
    return json.loads(_text(knowledge))


def case(rng: random.Random) -> str:
    asked = honest(rng.choice([None, 0.5]))
    data = copy.deepcopy(asked)
    if rng.random() < 0.2:  # one release less, or another one: the list of mechanisms tells
        data["releases"].pop(rng.randrange(len(data["releases"])))
    if rng.random() < 0.5:
        step = 10.0 ** rng.uniform(-9, -1)
        data["upper"] -= step
        data["lower"] = min(data["lower"], data["upper"])
        for release in data["releases"]:
            if rng.random() < 0.5:
                audit = release["audit"]
                audit["upper"] = audit["proofs"][0]["upper"] = audit["upper"] - step
                audit["lower"] = 0.0
    for _ in range(rng.randint(0, 2)):
        rng.choice(CHANGES)(rng, data)
    verdict = verify_here(copy.deepcopy(data), time_limit=5)
    if not verdict.verified:
        return "refused"
    about = [judge.mechanism_of(one["audit"]["problem"]) for one in data["releases"] for _ in one["columns"]]
    given = [judge.mechanism_of(one["audit"]["problem"]) for one in asked["releases"] for _ in one["columns"]]
    rng.shuffle(given)
    same = sorted(str(m.describe()) for m in about) == sorted(str(m.describe()) for m in given)
    assert verify_here(data, mechanism=given, time_limit=5).verified == same, "another list of mechanisms"
    lower, upper = true_bounds(data)
    assert data["lower"] <= upper + SLACK, f"{json.dumps(data)[:300]}: at most {upper!r}"
    assert data["upper"] >= lower - SLACK, f"{json.dumps(data)[:300]}: at least {lower!r}"
    return "accepted"


def true_bounds(data: Json) -> tuple[float, float]:
    """What the releases leak at least and at most, by audits of our own: one of them alone, and all added up."""
    least, most = [0.0], 0.0
    for release in data["releases"]:
        mechanism = judge.mechanism_of(release["audit"]["problem"])
        audit = dl.audit(mechanism, adversary="independent", verify=False)
        least.append(audit.lower)
        most += len(release["columns"]) * audit.upper
    if "knowledge" in data["adversary"]:
        return 0.0, most + data["adversary"]["knowledge"]
    return max(least), most
