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


def test_every_public_name_is_there_and_no_other_is_shown() -> None:
    for name in dalenius.__all__:
        assert getattr(dalenius, name) is not None
    assert set(dir(dalenius)) == {*dalenius.__all__, "__version__"}


def test_what_is_returned_has_a_public_type() -> None:
    mechanism = dalenius.mechanisms.symmetric(dalenius.queries.modular_sum(n=2, modulus=2), flip=0.3)
    audit = dalenius.audit(mechanism, entropy=1.0, tolerance=1e-3)
    assert isinstance(audit, dalenius.Audit)
    assert isinstance(mechanism.query, dalenius.Query)
    assert isinstance(audit.adversary, dalenius.Adversary)
    assert isinstance(audit.prior, dalenius.Prior)
    assert isinstance(audit.certificate, dalenius.Certificate)
    assert isinstance(audit.verify(), dalenius.Verification)
    assert isinstance(dalenius.curve(mechanism, [1.0], tolerance=1e-3), dalenius.Curve)
    assert isinstance(mechanism.profile(entropies=[1.0]), dalenius.Profile)
