import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources import ROOT, trees

import dalenius

GOLDEN = Path(__file__).parent / "golden" / "convex.json"


def loaded(script: str) -> set[str]:
    """The modules that a new process has loaded at the end of a script."""
    command = [sys.executable, "-c", f"{script}\nimport sys; print(*sys.modules)"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    return set(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split())


AUDIT = 'audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5'
PARTS = {"scipy.special", "scipy.linalg", "scipy.optimize", "matplotlib"}
# What other questions need: together as long to load as everything that a small audit needs. And what NumPy loads late.
OTHERS = {
    "dalenius.auditing.portfolio", "dalenius.auditing.real_records", "dalenius.auditing.unwritten_sums",
    "dalenius.bounds.counted", "dalenius.designing", "dalenius.results.design", "dalenius.results.profile",
    "dalenius.search.tied", "dalenius.verifier.forms.design", "dalenius.verifier.forms.sums",
    "concurrent.futures", "numpy.ma",
}  # fmt: skip
# What a script must not load. Each part of scipy takes longer to load than a small audit takes.
LIGHT = {
    "import dalenius.cli": {"numpy", "rich", "matplotlib", "flint"},
    "import dalenius.verifier.verify": {"numpy", "scipy", "dalenius.model", "dalenius.certificates"},
    "import dalenius.results.audit, dalenius.report.text": {"matplotlib"},
    "import dalenius as dl; dl.audit; dl.design; dl.curve": {*PARTS, "scipy.sparse"},
    f"import dalenius as dl; assert dl.verify({str(GOLDEN)!r}).verified": {"numpy", "scipy"},
    """from dalenius.model.gallery.parse import parse_mechanism, parse_query
parse_mechanism("geometric(epsilon=1)", parse_query("count(n=4)"))""": {"scipy.stats", "scipy.optimize", "matplotlib"},
    f"""import contextlib, io, shlex, dalenius.cli
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    dalenius.cli.main(shlex.split({AUDIT!r}))""": {*PARTS, *OTHERS, "clarabel", "pydantic", "rich"},
}


@pytest.mark.parametrize("script", LIGHT)
def test_what_is_not_needed_is_not_loaded(script: str) -> None:
    assert not LIGHT[script] & loaded(script)


def test_the_package_itself_imports_nothing() -> None:
    assert loaded("import dalenius") - loaded("") == {"dalenius"}


def test_parts_of_scipy_are_not_imported_at_the_head_of_a_file() -> None:
    """They take longer to load than a small audit: `import scipy` loads them when they are named."""
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                assert not str(node.module).startswith("scipy"), path
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("scipy.") for alias in node.names), path


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
