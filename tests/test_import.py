import subprocess
import sys

import pytest

import dalenius

QUICK = """
import sys, time
start = time.perf_counter()
import dalenius
assert time.perf_counter() - start < 0.5
assert not {"scipy.stats", "matplotlib", "flint"} & set(sys.modules), "heavy modules at import"
from dalenius.gallery.parse import parse_mechanism, parse_query
parse_mechanism("geometric(epsilon=1)", parse_query("count(n=4)"))
assert not {"scipy.stats", "matplotlib"} & set(sys.modules), "heavy modules in the gallery"
"""


def test_import_is_quick_and_pulls_in_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", QUICK], check=True)  # noqa: S603 - our own text


def test_public_names_are_found_and_others_are_not() -> None:
    assert dalenius.queries.count(n=3).n == 3
    assert issubclass(dalenius.InputError, ValueError)
    assert "Mechanism" in dir(dalenius)
    with pytest.raises(AttributeError, match="nothing"):
        dalenius.nothing  # noqa: B018 - the access is the test
