"""dalenius check: is every release within its leakage budget? For pipelines."""

from pathlib import Path

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, print_json
from dalenius.errors import printable


@click.command(short_help="Decide whether releases keep their leakage budgets.")
@click.argument("spec", type=FILE)
@AS_JSON
def check(*, spec: Path, as_json: bool) -> int:
    """Decide, by certified bounds, whether every release of a TOML file keeps its leakage budget.

    Each release has one [[check]] table: budget, what is released (query and mechanism, channel and records, or
    load), and the adversary (knowledge or entropy). name is optional, certificate names a file for the proof. nodes = N
    limits the work by its amount and not by the clock, so that a busy machine does not change the answer.

    \b
      dalenius check examples/gate.toml

    Exit codes: 0 every upper bound is within its budget, 1 some lower bound is above it, 3 undecided within the
    limits, 2 bad input (found before any work), 130 interrupted.
    """
    from dalenius.studies.gate import exit_code, read_checks, run_checks

    checks = read_checks(spec)
    done = []
    for checked in run_checks(checks):
        done.append(checked)
        if not as_json:
            click.echo(printable(str(checked)))
    interrupted = done[-1].stopped == "interrupted"
    code = INTERRUPTED if interrupted else exit_code([one.verdict for one in done])
    if as_json:
        print_json({"checks": [one.to_dict() for one in done], "exit": code})
    return code
