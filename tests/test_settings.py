"""Settings: checked where they are built, passed down to the search, every field documented and used."""

import copy
import pickle
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from cases import named
from refusals import refuses, refuses_saying

import dalenius as dl
from dalenius.auditing.real_outputs import Quantising
from dalenius.settings import DEFAULT, Limits, without

SOURCE = Path(str(dl.__file__)).parent
GROUPS = [type(value) for item in fields(DEFAULT) if is_dataclass(value := getattr(DEFAULT, item.name))]
NAMES = [(group.__name__, item.name) for group in (dl.Settings, *GROUPS) for item in fields(group)]
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if "(Part):" in path.read_text()]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: dl.Settings(limit=Limits()),
            "Settings has no field 'limit'; did you mean 'limits'?",
        ),
        (lambda: dl.Settings(tolerance_share="0.9"), "Settings(tolerance_share='0.9'): it must be a number"),
        (lambda: dl.Settings(limits=3), "it must be dalenius.settings.Limits(...)"),
        (lambda: dl.Settings(limits=Quantising()), "it must be dalenius.settings.Limits(...)"),
        (lambda: dl.Settings(parts=(3,)), "give a tuple of parts such as CountedSearch(), one of a kind"),
        (lambda: dl.Settings(parts=(Quantising(), Quantising())), "one of a kind"),
        (lambda: dl.Settings(0.5), "Settings takes its fields by name"),
        (lambda: Quantising(los_share=1), "Quantising has no field 'los_share'; did you mean 'loss_share'?"),
        (lambda: Quantising(xyz=1), "Quantising has no field 'xyz'; it must be one of loss_share, least_loss"),
        (lambda: Quantising(loss_share=True), "it must be a number, as the default 0.1"),
        (lambda: Quantising(loss_share=-1), "settings are finite and not negative"),
        (lambda: Quantising(loss_share=float("inf")), "settings are finite and not negative"),
        (lambda: Quantising(first_losses=[1, 2]), "it must be a tuple, each entry a number"),
        (lambda: Quantising(first_losses=("a", 2)), "it must be a tuple, each entry a number"),
    ],
)
def test_what_no_search_can_work_with_is_refused(build: object, says: str) -> None:
    refuses_saying(says, build)


def test_whole_numbers_may_stand_for_numbers() -> None:
    assert dl.Settings(tolerance_share=1).tolerance_share == 1
    assert Quantising(first_losses=(1, 0.5)).first_losses == (1, 0.5)


def test_settings_are_values() -> None:
    changed = dl.Settings(parts=(Quantising(loss_share=0.5),))
    assert changed != DEFAULT == dl.Settings()
    for again in (pickle.loads(pickle.dumps(changed)), copy.deepcopy(changed)):
        assert again == changed
        assert hash(again) == hash(changed)


def test_every_group_can_be_built_from_its_own_values() -> None:
    for group in fields(DEFAULT):
        value = getattr(DEFAULT, group.name)
        if is_dataclass(value):
            assert type(value)(**{item.name: getattr(value, item.name) for item in fields(value)}) == value


@pytest.mark.parametrize(
    "ask",
    [
        lambda settings: dl.audit(named("count(n=2)", "geometric(epsilon=1)"), entropy=1, settings=settings),
        lambda settings: dl.curve(named("count(n=2)", "geometric(epsilon=1)"), [1], settings=settings),
        lambda settings: dl.design(dl.queries.count(n=2), distortion=0.5, entropy=1, settings=settings),
        lambda settings: dl.frontier(dl.queries.count(n=2), entropy=1, settings=settings),
        lambda settings: dl.calibrate("geometric", dl.queries.count(n=2), leakage=1, entropy=1, settings=settings),
    ],
)
def test_only_settings_are_settings(ask: object) -> None:
    refuses(r"settings = \{\} is not a dl.Settings", ask, {})


def test_a_smaller_share_of_the_tolerance_closes_more_of_the_gap() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    trees = dl.Settings(portfolio=without("monotone"))
    plain = dl.audit(mechanism, knowledge=0.5, tolerance=1e-2, verify=False, settings=trees)
    finer = dl.audit(
        mechanism,
        knowledge=0.5,
        tolerance=1e-2,
        verify=False,
        settings=dl.Settings(tolerance_share=0.1, portfolio=without("monotone")),
    )
    assert plain.stopped == finer.stopped == "gap"
    assert finer.gap <= 1.1e-3 < plain.gap
    assert finer.lower <= plain.upper
    assert plain.lower <= finer.upper


def test_users_choose_bounds_by_name() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    trees = dl.audit(
        mechanism, knowledge=0.5, tolerance=1e-2, settings=dl.Settings(portfolio=dl.settings.only("posteriors"))
    )
    assert trees.bounds == "posteriors"
    assert trees.verified
    others = dl.Settings(portfolio=dl.settings.without("posteriors"), limits=dl.settings.Limits(many_cells=1000))
    assert dl.audit(mechanism, knowledge=0.5, tolerance=1e-2, settings=others).bounds != "posteriors"
    with pytest.raises(dl.InputError, match=r"'posterior' is not a bound of the portfolio; did you mean 'posteriors'"):
        dl.settings.only("posterior")


def test_points_of_real_outputs_follow_the_settings() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.count(n=2), epsilon=1, output="real")
    plain, coarse = (
        dl.audit(mechanism, knowledge=0.5, tolerance=1e-2, verify=False, settings=settings)
        for settings in (None, dl.Settings(parts=(Quantising(loss_share=0.5),)))
    )
    slack = [answer.certificate.data["problem"]["quadrature"]["slack"] for answer in (plain, coarse)]
    assert slack[0] < slack[1]
    assert dl.verify(coarse, mechanism).verified


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_numbers_are_finite_and_not_negative(value: float) -> None:
    refuses("loss_share", Quantising, loss_share=value)
    refuses("first_losses", Quantising, first_losses=(0.1, value))


def test_every_field_is_used_somewhere_and_has_a_comment() -> None:
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "settings.py")
    # Lines of the portfolio's table are known by their names alone.
    used = set(re.findall(r"\.([a-z_0-9]+)\b", text)) | set(DEFAULT.portfolio.plans)
    assert [name for name in NAMES if name[1] not in used] == []
    assert len(NAMES) <= 45


def test_every_number_of_a_bound_or_step_is_used_beside_its_comment() -> None:
    assert len(MODULES) > 20
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    used = set(re.findall(r"\.([a-z_0-9]+)\b", text)) | set(DEFAULT.portfolio.plans)
    for path in MODULES:
        for group in re.findall(r"^class \w+\(Part\):\n(.*?)(?=^\S|\Z)", path.read_text(), re.DOTALL | re.MULTILINE):
            for block in re.split(r"\n\s*\n|(?=\n    #)", group):
                tunable = re.findall(r"^    ([a-z_0-9]+): [^=]+ = [^f]", block, re.MULTILINE)
                assert not tunable or "#" in block, (path, tunable)
                assert set(tunable) <= used, path
