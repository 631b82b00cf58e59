"""Take the numbers, the pictures and the pages about the paper from a full run of `dalenius reproduce`.

python docs/take_numbers.py out/paper
"""

import json
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PICTURES = ("entropy", "table", "primal", "dual")


def main(run: Path) -> int:
    """Copy from the folder of a run; of the saddle only the line about its audit, for the page needs no more."""
    if json.loads((run / "run.json").read_text(encoding="utf-8"))["quick"]:
        sys.stderr.write(f"{run} is a quick run; the page is about the full one\n")
        return 2
    shutil.copy(run / "relation.md", DOCS / "relation-to-the-paper.md")
    shutil.copy(run / "map.md", DOCS / "paper-map.md")
    numbers = DOCS / "reproduced"
    numbers.mkdir(exist_ok=True)
    for path in sorted(run.glob("*.csv")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if path.stem == "saddle":
            lines = [lines[0], *(line for line in lines if line.startswith("saddle,audit,"))]
        (numbers / path.name).write_text("".join(lines), encoding="utf-8")
    for name in PICTURES:
        shutil.copy(run / f"{name}.png", DOCS / "pictures" / f"paper-{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
