"""Against whom an estimator is certified, and what of its budget is left for the releases themselves."""

import math

from dalenius.errors import refuse
from dalenius.model import checks

Against = dict[str, object]  # the arguments of a Ledger


def against(adversary: object, knowledge: object, leakage: float) -> tuple[Against, float]:
    """Return the adversary as a ledger takes it, and the leakage that all releases may add up to.

    Under independent records they add up. An adversary of bounded knowledge may have spent that knowledge on how
    people depend on each other, and learns so much more (docs/mathematics.md 10.1).
    """
    if adversary is not None:
        checks.choice("adversary", adversary, ("bounded", "independent"))
    limit = None if knowledge is None else checks.real("knowledge", knowledge, 0.0, math.inf)
    if adversary == "independent" or (adversary is None and limit is None):
        return {"adversary": "independent"}, leakage
    if limit is None:
        refuse('adversary="bounded" needs knowledge=, what the adversary knows at most, in nats')
    if leakage <= limit:
        refuse(
            f"leakage = {leakage:g} cannot be certified against an adversary that knows {limit:g} nats: it may know "
            "how a person depends on all others, and what is released of the others then reveals that much about the "
            'person, unless noise hides it; give a leakage above the knowledge, or adversary="independent"'
        )
    return {"knowledge": limit}, leakage - limit
