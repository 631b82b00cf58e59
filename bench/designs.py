"""Designs of a fixed list: against the truth, against named mechanisms of equal distortion; simplices against boxes."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from time import process_time

from scipy.optimize import brentq

import dalenius as dl
from dalenius.model.distortion import Distortion
from dalenius.model.gallery.parse import parse_query
from dalenius.model.query import Query
from dalenius.results.design import Design
from dalenius.settings import without

Section = tuple[str, list[str], Iterator[list[str]]]

SLOW_LIMIT = 120.0  # seconds for a design that is known not to close
ROUTE_LIMIT = 30.0  # seconds for an audit, with simplices or without
FAMILIES = {  # the parameter, and from where to where it is searched
    "symmetric": ("flip", 0.0, 1.0),
    "geometric": ("epsilon", 1e-3, 80.0),
    "laplace": ("epsilon", 1e-3, 80.0),
    "exponential": ("epsilon", 1e-3, 160.0),
    "gaussian": ("sigma", 0.05, 100.0),
}


@dataclass(frozen=True)
class Case:
    """A design problem: exactly one of distortion and leakage; what is known of the optimum, if anything."""

    query: str
    entropy: float
    distortion: float | None = None
    leakage: float | None = None
    truth: tuple[float, float] | None = None
    tolerance: float = 1e-4
    time_limit: float = 300.0
    slow: bool = False

    @property
    def name(self) -> str:
        """Words for the table."""
        budget = f"L = {self.leakage}" if self.distortion is None else f"D = {self.distortion}"
        return f"{self.query}, {budget}, b = {self.entropy:g}"


def binary_entropy(p: float) -> float:
    """H_b(p) in nats."""
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)


def parity_leakage(n: int, flip: float, b: float) -> float:
    """eps(D,b) of the parity of n bits at D = flip: the leakage of symmetric(flip), docs/mathematics.md, section 7."""
    beyond = b - (n - 1) * math.log(2)
    s = brentq(lambda s: binary_entropy(s) - beyond, 0, 0.5, xtol=1e-15) if beyond > 0 else 0.0
    return math.log(2) - binary_entropy(s * (1 - flip) + flip * (1 - s))


def parity(n: int, b: float, distortion: float | None = None, leakage: float | None = None) -> Case:
    """The parity of n bits, where both optima are known."""
    if distortion is not None:
        truth = parity_leakage(n, distortion, b)
    else:
        truth = brentq(lambda d: parity_leakage(n, d, b) - leakage, 0, 0.5, xtol=1e-15)
    return Case(f"modular_sum(n={n}, modulus=2)", b, distortion, leakage, (truth, truth))


COUNT = Case("count(n=4)", 2.0, 0.5, truth=(0.1528, 0.1532), tolerance=1e-3)
TRUTHS = (
    *(parity(3, 1.5, d) for d in (0.05, 0.1, 0.2, 0.3, 0.4)),
    parity(2, 0.0, 0.1),
    parity(5, 3.0, 0.25),
    parity(6, 3.8, 0.1),
    *(parity(2, 0.0, leakage=x) for x in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)),
    parity(4, 2.4, leakage=0.05),
    COUNT,
    Case("count(n=4)", 2.0, 0.5, truth=(0.1528, 0.1532), slow=True),
)
LARGER = (
    *(Case("modular_sum(n=6, modulus=3)", b, d) for d, b in ((0.3, 2.0), (0.3, 3.5), (0.5, 4.0))),
    *(
        Case(f"count(n={n})", b, d, time_limit=SLOW_LIMIT, slow=True)
        for n, d, b in ((10, 0.5, 3.0), (10, 0.8, 5.0), (10, 1.0, 6.5), (12, 0.9, 6.0), (24, 1.2, 12.0))
    ),
)
COMPARED = (parity(3, 1.5, 0.2), COUNT, LARGER[1], LARGER[4])


@cache
def measured(case: Case) -> tuple[Design, float]:
    """Each design is made once; with its seconds of processor time."""
    began = process_time()
    answer = dl.design(
        parse_query(case.query),
        distortion=case.distortion,
        leakage=case.leakage,
        entropy=case.entropy,
        tolerance=case.tolerance,
        time_limit=case.time_limit,
        verify=False,  # it is timed below
    )
    return answer, process_time() - began


def designed(case: Case) -> Design:
    """The design alone."""
    return measured(case)[0]


def _verified(case: Case) -> list[str]:
    """Processor seconds of the design, the share that a check takes, the certificate's size, and the verdict."""
    answer, seconds = measured(case)
    began = process_time()
    verdict = dl.verify(answer)
    share = f"{(process_time() - began) / seconds:.2f}"
    size = f"{len(answer.certificate.text()) / 1e6:.2f}"
    return [f"{seconds:.1f}", share, size, "yes" if verdict else f"NO: {verdict.reason}"]


def _truths(*, quick: bool) -> Iterator[list[str]]:
    for case in TRUTHS:
        if not (quick and case.slow) and case.truth is not None:
            answer = designed(case)
            low, high = case.truth
            off = max(answer.upper - low, high - answer.lower)
            meets = answer.lower <= high + 1e-9 and low <= answer.upper + 1e-9
            known = f"{low:.7f}" if low == high else f"{low} to {high}"
            bracket = f"{answer.lower:.7f} to {answer.upper:.7f}"
            cells = [case.name, known, bracket, "yes" if meets else "NO", f"{off:.1e}", str(answer.rounds)]
            yield [*cells, *_verified(case)]


def _larger(*, quick: bool) -> Iterator[list[str]]:
    for case in LARGER:
        if not (quick and case.slow):
            answer = designed(case)
            audit = answer.leakage
            bracket = f"{answer.lower:.6f} to {answer.upper:.6f}"
            gaps = [
                f"{answer.gap / answer.upper:.2%}",
                f"{max(0.0, audit.lower - answer.lower):.1e}",
                f"{audit.gap:.1e}",
            ]
            closed = "yes" if audit.gap <= answer.tolerance else "no"
            yield [case.name, bracket, *gaps, closed, audit.upper_by, str(answer.rounds), *_verified(case)]


def _at_distortion(query: Query, family: str, wanted: float) -> "dl.Mechanism | None":
    """The mechanism of a family with this expected distortion, by bisection on its parameter; None if none has it."""
    parameter, low, high = FAMILIES[family]
    measured = Distortion.from_user(query)

    def build(value: float) -> "dl.Mechanism":
        return getattr(dl.mechanisms, family)(query, **{parameter: value})

    def excess(value: float) -> float:
        return measured.expected(build(value)) - wanted

    if excess(low) * excess(high) > 0:
        return None
    return build(float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14)))


def _compared(*, quick: bool) -> Iterator[list[str]]:
    for case in COMPARED:
        if (quick and case.slow) or case.distortion is None:
            continue
        answer = designed(case)
        lowers: dict[str, float] = {}
        cells = []
        for family, (parameter, _, _) in FAMILIES.items():
            mechanism = _at_distortion(answer.query, family, case.distortion)
            if mechanism is None:
                cells.append("")
                continue
            audit = dl.audit(mechanism, entropy=case.entropy, tolerance=1e-4, time_limit=10, verify=False)
            lowers[family] = audit.lower
            value = str(mechanism.name).split("=")[1].rstrip(")")
            cells.append(f"{audit.lower:.5f} ({parameter} {float(value):.4g})")
        best = min(lowers, key=lambda name: lowers[name])
        less = "nothing" if answer.upper >= lowers[best] else f"{1 - answer.upper / lowers[best]:.1%}"
        yield [case.name, f"{answer.lower:.5f} to {answer.upper:.5f}", *cells, best, less]


def _geometric(n: int) -> "dl.Mechanism":
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)


def _modular(n: int, modulus: int) -> "dl.Mechanism":
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=modulus), flip=0.2)


ROUTES: tuple[tuple[str, Callable[[], "dl.Mechanism"], float, float], ...] = (  # name, mechanism, b, tolerance
    ("count of 4, geometric(1)", lambda: _geometric(4), 2.0, 1e-6),
    ("count of 6, geometric(1)", lambda: _geometric(6), 2.0, 1e-6),
    ("sum mod 3 of 4, flip 0.2", lambda: _modular(4, 3), 2.5, 1e-6),
    ("sum mod 4 of 5, flip 0.2", lambda: _modular(5, 4), 3.0, 1e-6),
    ("designed count of 4, D = 0.5", lambda: designed(COUNT).mechanism, 2.0, 2e-3),
    ("count of 6, geometric(1)", lambda: _geometric(6), 3.5, 1e-6),  # where boxes are better; not when quick
)


def _routes(*, quick: bool) -> Iterator[list[str]]:
    fewer = dl.Settings(portfolio=without("simplices"))
    for name, build, b, tolerance in ROUTES[:-1] if quick else ROUTES:
        mechanism = build()
        limit = ROUTE_LIMIT / 3 if quick else ROUTE_LIMIT
        both = dl.audit(mechanism, entropy=b, tolerance=tolerance, time_limit=limit, verify=False)
        without_them = dl.audit(
            mechanism, entropy=b, tolerance=tolerance, time_limit=limit, verify=False, settings=fewer
        )
        ratio = (
            f"{'' if without_them.closed else 'above '}{without_them.seconds / both.seconds:.1f}" if both.closed else ""
        )
        work = [f"{both.seconds:.1f}", str(both.nodes), f"{both.gap:.1e}", both.upper_by]
        yield [
            f"{name}, b = {b}",
            *work,
            f"{without_them.seconds:.1f}",
            str(without_them.nodes),
            f"{without_them.gap:.1e}",
            ratio,
        ]


def sections(*, quick: bool) -> Iterator[Section]:
    """Every table: its title, its head, and its lines as they are found."""
    verified = ["design s of processor", "verify / design", "certificate MB", "verified"]
    yield (
        "Designs whose optimum is known",
        ["problem", "optimum", "bracket", "meets it", "off by at most", "rounds", *verified],
        _truths(quick=quick),
    )
    yield (
        "Larger designs",
        [
            "problem",
            "bracket (nats)",
            "gap / upper",
            "left by the search",
            "left by the audit",
            "audit closed",
            "audit's bound",
            "rounds",
            *verified,
        ],
        _larger(quick=quick),
    )
    yield (
        "Designs against named mechanisms at equal distortion (leakage in nats)",
        [
            "problem",
            "least leakage",
            *(f"{name} leaks at least" for name in FAMILIES),
            "best named",
            "design leaks less by",
        ],
        _compared(quick=quick),
    )
    yield (
        "Audits with all bounds, and without simplices",
        ["instance", "s", "nodes", "gap", "bound", "without simplices s", "nodes", "gap", "time ratio"],
        _routes(quick=quick),
    )
