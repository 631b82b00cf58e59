"""Build the page on which a certificate is checked in the browser: python build.py FOLDER.

The folder then holds the page, this project's verifier, Python for WebAssembly (npm's pyodide) and python-flint's own
wheel for it. Nothing else is needed to serve it, and the page asks for nothing else.
"""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "dalenius"
# They go together: this Python, built for this platform. A new version of pyodide names both in pyodide-lock.json.
PYODIDE, FLINT, PYTHON, PLATFORM = "314.0.7", "0.9.0", "3.14", "pyemscripten_2026_0_wasm32"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PAGE = ("index.html", "worker.mjs")
# The exit code where a part cannot be had.
CANNOT_FETCH = 3


def main(folder: Path) -> None:
    """Write everything into the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _runtime(folder)
    _flint(folder)
    _verifier(folder / "verifier.zip")
    for name in PAGE:
        shutil.copy(HERE / name, folder)


def _runtime(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        _end("npm is not installed: install the package npm")
    _run([npm, "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", str(folder)])
    packed = folder / f"pyodide-{PYODIDE}.tgz"
    with tarfile.open(packed) as archive:
        for name in RUNTIME:
            member = archive.extractfile(f"package/{name}")
            assert member is not None  # for the type checker: it is a file
            (folder / name).write_bytes(member.read())
    packed.unlink()


def _flint(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    where = ["--only-binary=:all:", "--platform", PLATFORM, "--python-version", PYTHON, "--dest", str(folder)]
    _run([*command, *where, f"python-flint=={FLINT}"])
    (wheel,) = folder.glob("python_flint-*.whl")
    wheel.rename(folder / "flint.zip")


def _verifier(archive: Path) -> None:
    """The verifier as it is here, and what makes the package one; dates do not make two builds differ."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as found:
        for path in [PACKAGE / "__init__.py", *sorted((PACKAGE / "verifier").rglob("*.py"))]:
            entry = zipfile.ZipInfo(str(path.relative_to(PACKAGE.parent)))
            entry.compress_type = zipfile.ZIP_DEFLATED
            found.writestr(entry, path.read_bytes())


def _run(command: list[str]) -> None:
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:  # noqa: S603 - npm and pip
        _end(f"{' '.join(command)} failed")


def _end(reason: str) -> NoReturn:
    sys.stderr.write(f"the page cannot be built: {reason}\n")
    sys.exit(CANNOT_FETCH)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
