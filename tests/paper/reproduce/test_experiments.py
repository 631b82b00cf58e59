import math
import re

import pytest

from dalenius.errors import InputError
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.paper.reproduce import recipe
from dalenius.paper.reproduce.experiments import EXPERIMENTS, chosen
from dalenius.paper.reproduce.points import KINDS, Point
from dalenius.paper.reproduce.printed import VALUES

LN2 = math.log(2)
NAMES = ["saddle", "entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "pairs", "modular"]
MORE = ["convergence", "global", "text"]  # of the text, not of a figure
GRIDS = [(name, quick) for name in [*NAMES, *MORE] for quick in (False, True)]


def grid(name: str, *, quick: bool = False) -> list[Point]:
    return EXPERIMENTS[name].points(quick)


def test_they_come_in_the_order_of_the_paper() -> None:
    assert list(EXPERIMENTS) == [*NAMES, *MORE]
    assert [one.name for one in chosen(None)] == [*NAMES, *MORE]
    assert [one.name for one in chosen(["table", "entropy", "table"])] == ["entropy", "table"]


def test_every_experiment_says_where_it_stands_in_the_paper() -> None:
    places = {name: one.place for name, one in EXPERIMENTS.items()}
    figures = [
        "saddle",
        "entropy",
        "epsilon",
        "distortion",
        "primal",
        "dual",
    ]  # Figure 2 is the graph of the algorithms
    assert [places[name] for name in figures] == [f"Figure {k}" for k in (1, 3, 4, 5, 6, 7)]
    assert places["table"] == "Table 3"
    assert all(places.values())


def test_the_table_and_a_curve_are_run_with_other_repairs_too() -> None:
    assert all(set(point.parameters["series"]) == {"escort", "literal", "uniform"} for point in grid("table"))
    curves = {point.parameters["parameter"] for point in grid("entropy") if "escort" in point.parameters["series"]}
    assert curves == {0.3}
    assert all(point.parameters["others"] for name in ("primal", "dual") for point in grid(name))
    readings = [point.parameters.get("reading") for point in grid("convergence")]
    assert {"proof", "strict"} <= set(readings)


@pytest.mark.parametrize(
    ("name", "hint"), [("tabel", "did you mean 'table'?"), ("zzz", f"it must be one of {', '.join(NAMES)}")]
)
def test_an_unknown_name_is_refused_with_the_list(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"there is no experiment {name!r}; {hint}")):
        chosen(["entropy", name])


@pytest.mark.parametrize(("name", "quick"), GRIDS)
def test_keys_are_unique_and_fit_for_files(name: str, quick: bool) -> None:
    points = grid(name, quick=quick)
    assert len({point.key.casefold() for point in points}) == len(points) > 0
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", point.key) for point in points)
    assert {point.experiment for point in points} == {name}
    assert {point.kind for point in points} <= KINDS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_enough_starts(name: str) -> None:
    full = [point.starts for point in grid(name) if point.starts]
    quick = [point.starts for point in grid(name, quick=True) if point.starts]
    assert max(full) == (3 if name == "primal" else 20)  # a start of Algorithm 6 takes up to nine hundred rounds
    assert min(full) >= 3
    fine = [point.starts for point in grid(name) if point.parameters.get("eps") == recipe.EPS]
    assert min(fine, default=5) >= 5  # where a sentence rests on the curve
    assert max(quick) >= 1
    assert len(grid(name, quick=True)) <= len(grid(name))


@pytest.mark.parametrize(("name", "quick"), GRIDS)
def test_every_audit_is_of_a_mechanism_within_its_entropy(name: str, quick: bool) -> None:
    for point in grid(name, quick=quick):
        if point.kind == "audit":
            asked = point.parameters
            mechanism = parse_mechanism(asked["mechanism"], parse_query(asked["query"]))
            assert 0 <= asked["b"] <= mechanism.log_universe + 1e-9


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("n", [4, 5, 6])
def test_the_grid_of_entropies_has_the_corner(n: int, quick: bool) -> None:
    curves: dict[float, list[float]] = {}
    for point in grid("entropy", quick=quick):
        if point.parameters["query"] == f"modular_sum(n={n}, modulus=2)":
            curves.setdefault(point.parameters["parameter"], []).append(point.parameters["b"])
    assert list(curves) == ([0.1, 0.3] if quick else [0.1, 0.2, 0.3, 0.4])
    for entropies in curves.values():
        assert entropies == sorted(set(entropies))
        assert len(entropies) == (5 if quick else 15)
        assert entropies[0] == 0
        assert (n - 1) * LN2 in entropies
        assert entropies[-1] == pytest.approx(n * LN2)
        assert any((n - 1) * LN2 < b < n * LN2 - 0.1 for b in entropies)


def test_printed_values_are_near_their_closed_forms_or_known_to_be_off() -> None:
    off = {key for key, of in VALUES.items() if abs(of["printed"] - of["value"]) > 6e-4}
    assert off == {"H-p_E", "L0-exponential", "caption"}
