"""The public API as a typed program sees it. mypy checks this file; nobody runs it."""

from typing import Literal, assert_type

import numpy as np
from numpy.typing import NDArray

import dalenius as dl

query = dl.queries.count(n=4)
assert_type(query, dl.Query)
mechanism = dl.mechanisms.geometric(query, epsilon=1)
assert_type(mechanism, dl.Mechanism)
matrix: dl.Mechanism = dl.Mechanism.from_matrix([[0.9, 0.1], [0.1, 0.9]], records=[2])
assert_type(dl.Mechanism.load("mechanism.json"), dl.Mechanism)

audit = dl.audit(mechanism, knowledge=0.5, unit="bits", secret=[0, 1], verify=False, settings=dl.Settings())
assert_type(audit, dl.Audit)
assert_type(audit.lower, float)
assert_type(audit.upper, float)
assert_type(audit.record, int | None)
assert_type(audit.proved, Literal["both", "lower", "upper"])
assert_type(audit.verified, Literal[True] | None)
assert_type(audit.prior, dl.Prior)
assert_type(audit.prior.weights(), NDArray[np.float64])
assert_type(audit.certificate, dl.Certificate)
assert_type(audit.summary(), str)
assert_type(dl.audit(mechanism, adversary="independent"), dl.Audit)
assert_type(dl.audit_many([mechanism, matrix], knowledge=[0.5, 0.2], tolerance=1e-4, jobs=1), list[dl.Audit])

verdict = dl.verify("certificate.json", mechanism=mechanism, memory=1000, time_limit=10.0)
assert_type(verdict, dl.Verification)
assert_type(verdict.verified, bool)
assert_type(verdict.lower, float | None)

assert_type(dl.curve(mechanism, knowledges=[0.1, 0.5]), dl.Curve)
design = dl.design(query, distortion=0.5, entropy=2.0)
assert_type(design, dl.Design)
assert_type(design.leakage, dl.Audit)
assert_type(dl.frontier(query, knowledge=0.5, points=5), dl.Frontier)
assert_type(dl.calibrate("geometric", query, leakage=0.05, knowledge=0.5), dl.Calibration)
profile: dl.Profile = mechanism.profile()

joint: dl.Mechanism = dl.compose(mechanism, mechanism)
adaptive: dl.Mechanism = dl.adaptive(mechanism, lambda _: mechanism)
ledger = dl.Ledger(query, knowledge=0.5, budget=0.2)
assert_type(ledger.release(mechanism, name="March"), dl.Account)
assert_type(ledger.remaining(), float)
assert_type(dl.Study.load("study.toml").run(jobs=2), dl.Study)
assert_type(dl.g_leakage(mechanism, [0.5, 0.5]), float)


def refusal() -> str:
    """A budget error is an input error, which is a ValueError."""
    try:
        ledger.release(mechanism)
    except dl.BudgetError as error:
        refused: dl.InputError = error
        value: ValueError = refused
        return str(value)
    return ""


dl.audit(mechanism, knowledge="much")  # type: ignore[arg-type]
dl.audit(mechanism, adversary="everyone")  # type: ignore[arg-type]
dl.design(query, 0.5)  # type: ignore[call-arg]
dl.nothing  # type: ignore[attr-defined]  # noqa: B018
