"""Run the cases of a fuzzer, tally their outcomes and keep every defect with the command that shows it again."""

import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fuzz import beside, bombs, certificates, differential, forgeries, inputs, joint, numerics, saved, trees

Case = Callable[[random.Random], str]

FUZZERS: dict[str, tuple[Case, float]] = {  # and their share of all cases
    "certificates": (certificates.case, 0.4),
    "forgeries": (forgeries.case, 0.1),
    "inputs": (inputs.case, 0.18),
    "joint": (joint.case, 0.02),
    "saved": (saved.case, 0.1),
    "beside": (beside.case, 0.05),
    "differential": (differential.case, 0.05),
    "numerics": (numerics.case, 0.02),
    "bombs": (bombs.case, 0.01),
    "trees": (trees.case, 0.02),
}


@dataclass
class Tally:
    """What came of the cases of one fuzzer."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)

    def __str__(self) -> str:
        words = ", ".join(f"{many} {what}" for what, many in self.outcomes.most_common())
        seconds, k = self.slowest
        return f"{self.name}: {len(self.defects)} defects; {words}; slowest {seconds:.1f} s, case {k}"


def run(name: str, case: Case, numbers: Iterable[int], seed: int) -> Tally:
    """Run these cases with warnings as errors; whatever a case raises is a defect."""
    tally = Tally(name)
    for k in numbers:
        begin = time.monotonic()
        outcome = _tried(tally, case, seed, k)
        tally.outcomes[outcome] += 1
        tally.slowest = max(tally.slowest, (time.monotonic() - begin, k))
    return tally


def _tried(tally: Tally, case: Case, seed: int, k: int) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return case(random.Random(f"{tally.name} {seed} {k}"))
    except Exception as error:  # noqa: BLE001 - that is what a fuzzer is for
        tally.defects.append(f"python -m fuzz {tally.name} --seed {seed} --case {k}: {_words(error)}")
        sys.stderr.write(f"{tally.defects[-1]}\n")
        return "DEFECT"


def _words(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[-600:]} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
