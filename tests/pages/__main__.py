"""Run the code of pages, and write what it prints below it: PYTHONPATH=tests python -m pages docs/tour.md [...].

With --check nothing is written. Slow blocks are listed with their processor time.
"""

import sys
import tempfile
import time
from pathlib import Path

from pages.blocks import Page, blocks, copy_examples, inside, wanted


def main(names: list[str]) -> int:
    """Renew the output on these pages."""
    check, nightly = "--check" in names, "--nightly" in names
    code, total = 0, 0.0
    for path in (Path(name).resolve() for name in names if not name.startswith("--")):
        text, shift = path.read_text(encoding="utf-8"), 0
        page, new = Page(path), path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, inside(Path(folder)):
            copy_examples(Path(folder))
            for block in blocks(text):
                if not wanted(block, nightly=nightly):
                    continue
                begin = time.process_time()
                printed, wrong = page.run(block)
                seconds = time.process_time() - begin
                total += seconds
                if seconds > 0.5:
                    sys.stdout.write(f"{path.name}: {seconds:.1f} s: {block.code.strip().splitlines()[-1]}\n")
                if wrong and (check or block.shown is None or "\n...\n" in block.shown):
                    sys.stdout.write(f"{path.name}: {wrong}\n")
                    code = 1
                elif block.shown is not None and (wrong or not block.shown.strip()):
                    place = block.start + shift
                    new = new[:place] + printed + new[place + len(block.shown) :]
                    shift += len(printed) - len(block.shown)
        if not check:
            path.write_text(new, encoding="utf-8")
    sys.stdout.write(f"{total:.1f} s of processor time\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
