"""The experiments of the evaluation and the appendix, in the paper's order: which points each one measures."""

# ruff: noqa: FBT001 - whether a run is quick is every experiment's one question

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dalenius.errors import nearest, refuse
from dalenius.model.gallery.parse import parse_query
from dalenius.paper.reproduce import recipe
from dalenius.paper.reproduce.points import Point
from dalenius.paper.reproduce.printed import CAPTION, LN2, TABLE, VALUES
from dalenius.paper.reproduce.text import MEASURES

RECIPE = 6  # raise it when a grid or a method changes: results of two recipes are never mixed

PARAMETER = {"symmetric": "flip", "laplace": "epsilon", "exponential": "epsilon"}


@dataclass(frozen=True)
class Experiment:
    """A named set of points; `points(quick)` lists them in the order of the grid."""

    name: str
    title: str
    place: str  # where it stands in the paper
    points: Callable[[bool], list[Point]]


def _curve(
    experiment: str,
    query: str,
    family: str,
    parameters: Iterable[float],
    entropies: Iterable[float],
    *,
    quick: bool,
    many: bool = False,
    fine: bool = False,
    printed: Mapping[float, float] | None = None,
    series: Mapping[str, int] | None = None,
    slow: Collection[float] = (),
) -> list[Point]:
    """Audits of a named mechanism along its parameter and b, certified and by Algorithm 1.

    fine: loops run to 1e-9, since a sentence rests on this curve; most is missed there. printed: by b. slow: values of
    b whose brackets take minutes to reach 1e-5; they stop at 1e-3.
    """
    word = PARAMETER[family]
    return [
        Point(
            experiment,
            f"{query}-{family}-{word}{parameter:.6g}-b{b:.4f}".translate(str.maketrans("(,", "--", ") =")),
            "audit",
            {
                "query": query,
                "mechanism": f"{family}({word}={parameter!r})",
                "family": family,
                "parameter": parameter,
                "b": b,
                "printed": (printed or {}).get(b),
                "series": dict(series or {}),
                "eps": recipe.EPS if fine else recipe.GRID_EPS,
                "tolerance": recipe.SLOW_TOLERANCE if b in slow else None,
            },
            _starts(quick, many=many, fine=fine),
        )
        for parameter in parameters
        for b in entropies
    ]


def _parity(n: int) -> str:
    return f"modular_sum(n={n}, modulus=2)"


def _saddle(quick: bool) -> list[Point]:
    surface = Point("saddle", "surface", "surface", {"flip": 0.1, "size": 21 if quick else 41})
    (point,) = _curve("saddle", _parity(2), "symmetric", [0.1], [1.0], quick=quick, many=True)
    return [surface, replace(point, key="audit")]


def _entropy(quick: bool) -> list[Point]:
    """Along b; the repaired Algorithm 5 on one curve of each panel, where it can be told from the printed one."""
    points = []
    for n in recipe.SIZES:
        for flip in (0.1, 0.3) if quick else (0.1, 0.2, 0.3, 0.4):
            shown = flip == 0.3  # noqa: PLR2004 - the caption's
            points += _curve(
                "entropy",
                _parity(n),
                "symmetric",
                [flip],
                _entropies(n, *((3, 2) if quick else (9, 6))),
                quick=quick,
                many=shown and n == recipe.SIZES[0],
                fine=shown and n == recipe.SIZES[-1],
                series={"escort": 1 if quick else recipe.FEW} if shown else None,
            )
    return points


def _entropies(n: int, flat: int, falling: int) -> list[float]:
    """Values of b: `flat` of them from 0 to (n-1) ln 2, and `falling` beyond it up to n ln 2."""
    edge = (n - 1) * LN2
    return [edge * k / (flat - 1) for k in range(flat - 1)] + [edge + LN2 * k / falling for k in range(falling + 1)]


def _epsilon(quick: bool) -> list[Point]:
    """BSC(0.3) at every b of the caption, the two others along epsilon where b does not matter and where it does."""
    epsilons = [float(f"{10 ** (k / 4):.4g}") for k in range(-4, 5)][:: 4 if quick else 1]
    points = []
    for n in recipe.SIZES:
        for b in (0.0, 2.5) if quick else (0.0, 0.5, 1.0, 1.5, 2.0, 2.5):
            caption = {0.0: CAPTION} if n == recipe.SIZES[0] else None
            points += _curve("epsilon", _parity(n), "symmetric", [0.3], [b], quick=quick, printed=caption)
            for family in ("laplace", "exponential") if b in {0.0, 2.0, 2.5} else ():
                at, first = (family, n, b), recipe.SIZES[0]
                many, fine = at == ("laplace", first, 2.0), at == ("exponential", first, 2.0)
                points += _curve("epsilon", _parity(n), family, epsilons, [b], quick=quick, many=many, fine=fine)
    return points


def _distortion(quick: bool) -> list[Point]:
    flips = (0.1, 0.3) if quick else (0.05, 0.1, 0.2, 0.3, 0.4)
    noise: dict[str, Callable[[float], float]] = {  # the parameter at which each flips a bit with probability p
        "symmetric": lambda p: p,
        "laplace": lambda p: -2 * math.log(2 * p),
        "exponential": lambda p: 2 * math.log((1 - p) / p),
    }
    points = []
    for n in recipe.SIZES:
        ends = () if n == recipe.SIZES[0] else ((n - 1) * LN2 + recipe.BEYOND,)
        for b in (0.0, *(ends or (2.5,))) if quick else (0.0, 2.0, 2.5, *ends):
            for family, parameter in noise.items():
                points += _curve(
                    "distortion",
                    _parity(n),
                    family,
                    map(parameter, flips),
                    [b],
                    quick=quick,
                    many=(family, n, b) == ("symmetric", 4, 2.5),
                    fine=family == "laplace" and n == recipe.SIZES[-1] and b in ends,
                )
    return points


def _primal(quick: bool) -> list[Point]:
    budgets = (0.3,) if quick else (0.1, 0.2, 0.3, 0.4)
    about = {"n": 3, "b": 1.5, "others": 1}
    # A start takes up to nine hundred rounds.
    return [Point("primal", f"D{D:g}", "primal", {**about, "D": D}, _starts(quick)) for D in budgets]


def _dual(quick: bool) -> list[Point]:
    budgets = (0.05, 0.3) if quick else (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    about = {"n": 2, "b": 0.0, "others": 1 if quick else 2}
    return [
        Point("dual", f"L{L:g}", "dual", {**about, "L": L}, _starts(quick, many=L == 0.1))  # noqa: PLR2004
        for L in budgets
    ]


def _convergence(quick: bool) -> list[Point]:
    starts = 1 if quick else 3
    one = {"algorithm": 1, "n": 4, "b": 2.0, "mechanism": "laplace(epsilon=1.0)"}
    six = {"algorithm": 6, "n": 3, "b": 1.5, "budget": 0.2}
    nine = {"algorithm": 9, "n": 2, "b": 0.0, "budget": 0.1}
    return [
        Point("convergence", "algorithm-1", "convergence", one, starts),
        Point("convergence", "algorithm-6", "convergence", six, starts),
        Point("convergence", "algorithm-9-proof", "convergence", {**nine, "reading": "proof"}, starts),
        Point("convergence", "algorithm-9-zigzag", "convergence", {**nine, "budget": 0.4, "reading": "proof"}, 1),
        Point("convergence", "algorithm-9-strict", "convergence", {**nine, "reading": "strict"}, 1),
    ]


def _global(quick: bool) -> list[Point]:
    """The claim that Algorithm 1 finds the global optimum at b = 0, on channels without symmetry."""
    drawn = [
        Point("global", f"draw{draw}", "global", {"records": [3, 3], "draw": draw}, 2 if quick else 6)
        for draw in range(2 if quick else 10)
    ]
    return [Point("global", "rational", "global", {"records": [3, 2], "draw": None}, 5 if quick else 20), *drawn]


def _text(quick: bool) -> list[Point]:
    many = {"armijo": 6000, "penalty": 24, "alternation": 20}
    return [
        Point("text", name, "text", {"what": name}, many.get(name, 300) // (20 if quick else 1)) for name in MEASURES
    ]


def _table(quick: bool) -> list[Point]:
    other, entropies = 1 if quick else recipe.OTHER, (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 2.77)
    series = {"escort": other, "literal": other, "uniform": 1}
    points = []
    for family, printed in TABLE.items():
        how: dict[str, Any] = {"printed": printed, "series": series, "fine": True}
        points += _curve("table", _parity(4), family, [1.0], entropies, quick=quick, many=True, **how)
    return points


def _closed_forms(quick: bool) -> list[Point]:
    starts = recipe.FEW if quick else recipe.MANY
    return [Point("closed-forms", key, "value", stated, starts) for key, stated in VALUES.items()]


def _pairs(quick: bool) -> list[Point]:
    query = "pairs(n=4)"
    cases = [(query, "symmetric", 0.3), (query, "laplace", 1.0), (query, "exponential", 1.0)]
    return _curves("pairs", cases, quick, fine=2)


def _modular(quick: bool) -> list[Point]:
    sums = [f"modular_sum(n={n}, modulus={m})" for n, m in ((4, 3), (5, 3), (4, 4))]
    cases = [*((query, "symmetric", 0.2) for query in sums), (sums[0], "laplace", 1.0)]
    return _curves("modular", cases, quick, fine=1, slow={1: 0.95, 2: 0.95})


def _curves(
    name: str,
    cases: Iterable[tuple[str, str, float]],
    quick: bool,
    *,
    fine: int,
    slow: Mapping[int, float] | None = None,
) -> list[Point]:
    """L(b) of several mechanisms along b, a share of log|X|; the first has many starts.

    fine: the place of the one where most is missed. slow: the share of b, by place, whose bracket takes minutes.
    """
    points = []
    for place, (query, family, parameter) in enumerate(cases):
        most = parse_query(query).n * LN2
        points += _curve(
            name,
            query,
            family,
            [parameter],
            [share * most for share in (recipe.FEW_SHARES if quick else recipe.SHARES)],
            quick=quick,
            many=not place,
            fine=place == fine,
            slow=[(slow or {}).get(place, -1.0) * most],
        )
    return points


def _starts(quick: bool, *, many: bool = False, fine: bool = False) -> int:
    """Random starts of a point; a quick run has one, and a few where the full one has many."""
    if quick:
        return recipe.FEW if many else 1
    return recipe.MANY if many else recipe.SOME if fine else recipe.FEW


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment("saddle", "Saddle surface of mutual information", "Figure 1", _saddle),
        Experiment("entropy", "Leakage against the entropy constraint", "Figure 3", _entropy),
        Experiment("epsilon", "Laplace, exponential and BSC(0.3) against epsilon", "Figure 4", _epsilon),
        Experiment("distortion", "Leakage against distortion", "Figure 5", _distortion),
        Experiment("primal", "Least leakage at a distortion budget", "Figure 6", _primal),
        Experiment("dual", "Least distortion at a leakage budget", "Figure 7", _dual),
        Experiment("table", "Leakage at epsilon = 1", "Table 3", _table),
        Experiment("closed-forms", "Closed-form values of the appendix", "Section 7.2", _closed_forms),
        Experiment("pairs", "Sum over pairs", "Section 4.1, the non-linear query", _pairs),
        Experiment("modular", "Modular sums with m > 2", "Section 4.1, the linear query", _modular),
        Experiment(
            "convergence", "Convergence of Algorithms 1, 6 and 9", "Section 3.4, Theorems 4, 6 and 7", _convergence
        ),
        Experiment("global", "Algorithm 1 without entropy constraint", "Theorem 4, part 2", _global),
        Experiment(
            "text", "Formulas and tests of the text on random instances", "Theorems 3, 5, 8; Algorithms 2 to 8", _text
        ),
    )
}


def chosen(only: Iterable[str] | None, experiments: Mapping[str, Experiment] = EXPERIMENTS) -> list[Experiment]:
    """The experiments of these names, all of them when none is named, in the order of the paper."""
    names = set(only or experiments)
    for name in names - experiments.keys():
        refuse(f"there is no experiment {name!r}; {nearest(name, experiments)}")
    return [one for name, one in experiments.items() if name in names]
