"""Use the verifier by itself as a stranger would; `make package` runs this beside python-flint alone."""

import json
import subprocess
import sys
from importlib.metadata import distributions, version
from pathlib import Path

import dalenius.verifier
from dalenius.verifier.verify import FORMS, READERS, verify

GOLDEN = Path(__file__).parent / "golden"
MOST_MB = 30


def main() -> None:
    """Its command, a certificate of every form, a forgery, and how much is installed."""
    home = Path(dalenius.verifier.__file__).parent
    packages = home.parents[1]
    assert "site-packages" in home.parts, home
    assert {found.name for found in distributions(path=[str(packages)])} == {"dalenius-verifier", "python-flint"}
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.suffix != ".pyc" and path.is_file())
    assert size < MOST_MB * 10**6, size
    command = str(Path(sys.executable).parent / "dalenius-verify")
    done = subprocess.run([command, GOLDEN / "choices.json"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("VERIFIED"), done.stdout
    forms = set[str]()
    for path in sorted(GOLDEN.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        form = content.get("form", content["format"])
        if form in forms or content.get("version") in READERS:
            continue
        forms.add(form)
        assert verify(path).verified, path
        forged = verify({**content, "upper": content.get("lower", 0)})
        assert not forged.verified, path
    assert {*FORMS, "dalenius/design-certificate", "dalenius/joint-certificate"} <= forms, forms
    sys.stdout.write(f"dalenius-verifier {version('dalenius-verifier')} works alone: {size / 1e6:.0f} MB installed\n")


if __name__ == "__main__":
    main()
