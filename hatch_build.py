"""Compile the kernels in C where there is a compiler. The package works without them, by NumPy alone."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOM = Path("src/dalenius/numerics")
# As numerics/compiled.py looks for it: the package itself is not there yet.
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
SOURCES = ("kernels.c", "tree.c")
# No contraction of products and sums into one rounding: answers are then the same on every processor without the wide
# vectors below. Never fast-math: it simplifies away how tree.c rounds to whole numbers.
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC", "-ffp-contract=off", "-fopenmp-simd")
# The same for processors with wider vectors, beside the one for all: more than twice as fast on a thousand cells.
LIBRARIES = {"_kernels": (), "_kernels_wide": ("-mavx2", "-mfma", "-ffp-contract=fast")}


class Kernels(BuildHookInterface):  # type: ignore[type-arg, misc] # a hook of any builder
    """Wheels, installations in place included, hold the library where it could be built, and say for what system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files are collected."""
        del version
        wanted = os.environ.get("DALENIUS_COMPILED") != "0"
        for name, flags in LIBRARIES.items():
            library = Path(self.root, ROOM, f"{name}{SUFFIX}")
            if not wanted or not self._compile(library, flags):
                # One of an earlier build must not stand in for it.
                library.unlink(missing_ok=True)
                continue
            build_data["artifacts"].append(f"/{ROOM.as_posix()}/{library.name}")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _compile(self, library: Path, flags: tuple[str, ...]) -> bool:
        if flags and platform.machine().lower() not in ("x86_64", "amd64"):
            return False
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        if shutil.which(compiler[0]) is None:
            self.app.display_info("no C compiler: the kernels are left out, and small problems take longer")
            return False
        # Two environments may be installed at once: each replaces a whole file.
        new = library.with_name(f"{library.name}.{os.getpid()}")
        sources = [str(Path(self.root, ROOM, name)) for name in SOURCES]
        command = [*compiler, *FLAGS, *flags, "-o", str(new), *sources, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the system's compiler
        if done.returncode:
            new.unlink(missing_ok=True)
            self.app.display_warning(f"the kernels could not be compiled, and are left out: {done.stderr.strip()}")
            return False
        new.replace(library)
        return True
