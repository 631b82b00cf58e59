"""Settings: checked when built, every field documented and used."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import dalenius
from dalenius.errors import InputError
from dalenius.settings import Limits, Newton, Settings

SOURCE = Path(str(dalenius.__file__)).parent
GROUPS = [type(getattr(Settings(), group.name)) for group in fields(Settings)]
NAMES = [(group.__name__, item.name) for group in GROUPS for item in fields(group)]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_what_no_search_can_work_with_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="ridge"):
        Newton(ridge=value)
    with pytest.raises(InputError, match="warm_mu"):
        Newton(warm_mu=(0.1, value))


def test_settings_are_values() -> None:
    assert Settings() == Settings()
    assert Settings(limits=Limits(many_cells=0)) != Settings()


def test_every_field_is_used_somewhere_and_has_a_comment() -> None:
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "settings.py")
    used = set(re.findall(r"\.([a-z_0-9]+)\b", text))
    assert [name for name in NAMES if name[1] not in used] == []
    for block in re.split(r"\n\s*\n|(?=\n    #)", (SOURCE / "settings.py").read_text()):
        tunable = re.findall(r"^    ([a-z_0-9]+): [^=]+ = [^f]", block, re.MULTILINE)
        assert not tunable or "#" in block, tunable
