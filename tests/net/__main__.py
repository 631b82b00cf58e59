"""Hold the solver against the net, byte for byte, or renew it.

PYTHONPATH=tests python -m net            which answers differ from those on record
PYTHONPATH=tests python -m net --record   put the answers of this code on record
"""

import argparse
import json
import sys
import time

from net import answers
from net.problems import PROBLEMS


def main() -> int:
    """Print one line for each problem; exit 1 where one differs by a byte."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write tests/net/answers.json")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    options = parser.parse_args()
    known, found, different = answers.on_record(), {}, 0
    for name, problem in PROBLEMS.items():
        if options.only not in name:
            continue
        began = time.process_time()
        found[name] = answers.of(problem())
        same = found[name] == known.get(name)
        close = answers.difference(known[name], found[name]) if name in known and not same else ""
        different += not same
        word = "same" if same else close or "other bytes"
        sys.stdout.write(f"{time.process_time() - began:7.2f} s  {word:<12} {name}\n")
        sys.stdout.flush()
    if options.record:
        answers.FILE.write_text(json.dumps({**known, **found}, indent=1, sort_keys=True) + "\n")
    return 0 if options.record or not different else 1


if __name__ == "__main__":
    sys.exit(main())
