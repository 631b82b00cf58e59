"""Check files with Coq, and that what they print of their assumptions is the real numbers alone.

python proofs/check.py FILE.v ...: after `make prove` has compiled the theorems. Needs the standard library and coqc.
"""

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROOFS = Path(__file__).parent
# The axioms of Coq's real numbers, and excluded middle, which its theorems about exp and ln use.
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


def refused(file: Path) -> str:
    """Return why a file is refused; an empty text where it is accepted."""
    with tempfile.TemporaryDirectory() as made:
        command = ["coqc", "-q", "-R", PROOFS, "Dalenius", "-o", f"{made}/{file.stem}.vo", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip() or f"coqc ended with {done.returncode}"
    if "Axioms:" not in done.stdout:
        return "it prints no assumptions"
    other = set(re.findall(r"^(\w[\w.]*)", done.stdout, re.MULTILINE)) - REALS - {"Axioms"}
    return f"it assumes {', '.join(sorted(other))}" if other else ""


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Check every file that is named."""
    failed = False
    for name in sys.argv[1:]:
        began = _processor()
        reason = refused(Path(name))
        failed = failed or bool(reason)
        print(f"{Path(name).name}: {reason or 'accepted'}, {_processor() - began:.0f} s of processor time", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
