"""SCIP's bracket on max I(A;Y) over D(p || rho) <= K, every dataset a variable; only where pyscipopt is installed."""

import math
from importlib.util import find_spec
from typing import Any

import numpy as np

from fuzz.judge import Integers, Posed

INSTALLED = find_spec("pyscipopt") is not None
LEAST = 1e-9  # of arguments of logarithms
ACCURACY = 1e-4  # what tolerances and least arguments may cost in all
SECONDS = 3.0


def suited(asked: Posed) -> bool:
    """Whether SCIP's tolerances tell anything: neither hardly any knowledge nor hardly any reference mass."""
    return 1e-2 < asked.knowledge < math.inf and asked.rho[asked.rho > 0].min() > 1e-4 and asked.rho.size <= 6


def bracket(asked: Posed) -> tuple[float, float]:
    """The largest of all secrets' brackets."""
    found = [_solve(asked, labels) for labels in asked.secrets]
    return max(low for low, _ in found), max(high for _, high in found)


def _solve(asked: Posed, labels: Integers) -> tuple[float, float]:
    import pyscipopt

    model, total = pyscipopt.Model(), pyscipopt.quicksum
    model.hideOutput()

    def xlogx(x: Any) -> Any:
        return x * pyscipopt.log(x)

    def equal_to(sum_of: list[Any]) -> Any:
        x = model.addVar(lb=LEAST, ub=1)
        model.addCons(x == total(sum_of))
        return x

    inside = np.flatnonzero(asked.rho)
    p = {int(x): model.addVar(lb=10 * LEAST, ub=1) for x in inside}
    model.addCons(total(p.values()) == 1)
    secrets = [equal_to([p[x] for x in p if labels[x] == a]) for a in {int(labels[x]) for x in p}]
    joint, answers = [], []
    for q in asked.matrix.T:
        q = np.where(q > LEAST, q, 0.0)  # noqa: PLW2901 - what is rarer does not matter at this accuracy
        parts = [[float(q[x]) * p[x] for x in p if labels[x] == a and q[x]] for a in {int(labels[x]) for x in p}]
        joint += [equal_to(part) for part in parts if part]
        answers += [equal_to([x for part in parts for x in part])] if any(parts) else []
    t = model.addVar(lb=-1, ub=math.log(len(secrets)) + 1)
    model.addCons(t <= total(map(xlogx, joint)) - total(map(xlogx, secrets)) - total(map(xlogx, answers)))
    away = total(math.log(asked.rho[x]) * p[x] for x in p)
    model.addCons(total(map(xlogx, p.values())) - away <= asked.knowledge)
    model.setObjective(t, "maximize")
    model.setParams({"limits/absgap": ACCURACY, "limits/time": SECONDS, "numerics/feastol": 1e-8})
    try:
        model.optimize()
    except Exception as error:
        if not str(error).startswith("SCIP: error in LP solver"):
            raise
        return -math.inf, math.inf  # its own trouble says nothing about us
    low = model.getPrimalbound() if model.getNSols() else -math.inf
    return low, model.getDualbound()
