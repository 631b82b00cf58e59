"""python -m fuzz [certificates inputs saved differential numerics] --cases 10000 --seed 0, with tests/ on the path."""

import argparse
import sys

from fuzz.attack import FUZZERS, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Attack the package with random cases.")
    parser.add_argument("names", nargs="*", metavar="FUZZER", help=f"of {', '.join(FUZZERS)}; default: all")
    parser.add_argument("--cases", type=int, default=10_000, help="in all, shared among the fuzzers (default 10000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="only this one, as a defect is reported")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in FUZZERS]:
        parser.error(f"there is no fuzzer {unknown[0]!r}; it must be one of {', '.join(FUZZERS)}")
    chosen = options.names or list(FUZZERS)
    shares = {name: FUZZERS[name][1] for name in chosen}
    defects = 0
    for name in chosen:
        many = round(options.cases * shares[name] / sum(shares.values()))
        numbers = range(many) if options.case is None else [options.case]
        tally = run(name, FUZZERS[name][0], numbers, options.seed)
        sys.stdout.write(f"{tally}\n")
        sys.stdout.flush()
        defects += len(tally.defects)
    return int(defects > 0)


if __name__ == "__main__":
    sys.exit(main())
