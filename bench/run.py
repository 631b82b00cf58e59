"""make bench: audits and designs of a fixed list of instances, and their verification.

Prints tables and writes them to out/bench/results.md. Seconds depend on the machine; brackets of what closes do not.
`--quick` leaves out what takes longest; `--only designs` (or audits, peers) runs one part. Very large counts, and how
far counts of 10 to 50 close, have a command of their own: bench/large.py.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import audits
import designs
import peers


def show(title: str, head: list[str], rows: Iterable[list[str]]) -> list[str]:
    """Print a table, each line when it is there, and return its lines."""
    lines: list[str] = []
    for text in (f"## {title}", "", _line(head), _line(["---"] * len(head))):
        lines.append(text)
        print(text, flush=True)
    for row in rows:
        lines.append(_line(row))
        print(lines[-1], flush=True)
    print()
    return [*lines, ""]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Run the sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the slow instances")
    parser.add_argument("--only", choices=["audits", "designs", "peers"], help="run one part")
    asked = parser.parse_args()
    lines: list[str] = []
    if asked.only in {None, "audits"}:
        lines += show(audits.TITLE, audits.HEAD, audits.rows(quick=asked.quick))
    if asked.only in {None, "peers"} and peers.installed():
        lines += show(peers.TITLE, peers.HEAD, peers.rows())
    elif asked.only in {None, "peers"}:
        lines += [peers.MISSING, ""]
        print(peers.MISSING, "\n")
    if asked.only in {None, "designs"}:
        for title, head, rows in designs.sections(quick=asked.quick):
            lines += show(title, head, rows)
    out = Path("out/bench")
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.md").write_text("\n".join(lines))
    print(out / "results.md")


if __name__ == "__main__":
    main()
