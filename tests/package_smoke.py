"""Use the installed package as a stranger would, outside of the checkout; `make package` runs this with its Python."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import dalenius as dl
from dalenius.numerics import compiled


def run(*command: str, code: int = 0) -> str:
    """Run a command of this environment; what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, (command, done.returncode, done.stderr)
    return done.stdout


def main() -> None:
    """One version, typed, an audit, a report, a certificate, the verifier by itself, a refusal."""
    home = Path(str(dl.__file__)).parent
    assert "site-packages" in home.parts, home
    assert (home / "py.typed").is_file()
    if "--kernels" in sys.argv:
        # Where the machine that built the wheel had a compiler.
        assert compiled.library() is not None
    command = str(Path(sys.executable).parent / "dalenius")
    assert run(command, "--version").split() == ["dalenius", dl.__version__]
    assert version("dalenius") == dl.__version__
    problem = ("--query", "count(n=4)", "--mechanism", "geometric(epsilon=1)", "--knowledge", "0.5")
    files = ("--certificate", "proof.json", "--save", "audit.json", "--plot", "audit.png")
    answer = json.loads(run(command, "audit", *problem, *files, "--json"))
    assert 0.311 < answer["lower"] <= answer["upper"] < 0.3115, answer
    assert "VERIFIED" in run(command, "verify", "proof.json")
    run(command, "report", "audit.json", "--out", "report.html")
    assert "VERIFIED" in run(sys.executable, "-m", "dalenius.verifier", "proof.json").upper()
    run(command, "audit", "--query", "count(n=4)", code=2)
    sys.stdout.write(f"dalenius {dl.__version__} works from {home}\n")


if __name__ == "__main__":
    main()
