"""dalenius ledger: what has been released about one dataset, and what may still be."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalenius.cli import common
from dalenius.errors import refuse

if TYPE_CHECKING:
    from dalenius.tools.account import Account
    from dalenius.tools.ledger import Ledger

LEDGER = click.argument("path", metavar="LEDGER", type=common.FILE)
RELEASED = common.options(
    LEDGER,
    common.SOURCE,
    click.option("--columns", metavar="NAMES", help="The columns it looks at, such as age,smokes."),
)


@click.group(cls=common.Suggesting, short_help="Keep account of all releases about one dataset.")
def ledger() -> None:
    """Keep account of all releases about one dataset: what has leaked, and what a budget leaves.

    \b
      dalenius ledger new book.json --query "count(n=4)" --knowledge 0.5 --budget 0.2
      dalenius ledger what-if book.json --query "count(n=4)" --mechanism "geometric(epsilon=0.5)"
      dalenius ledger release book.json --query "count(n=4)" --mechanism "geometric(epsilon=0.5)" --name March
      dalenius ledger show book.json
    """


@ledger.command()
@LEDGER
@click.option("--query", metavar="CALL", help='A query over the records, such as "count(n=4)".')
@click.option("--records", metavar="SIZES", help="Or how many values each record has, such as 2,2,2.")
@click.option("--columns", metavar="SIZES", help="Or the columns of a record, such as age=8,smokes=2, with --n.")
@click.option("--n", type=int, metavar="N", help="How many records there are, with --columns.")
@common.numbers("--knowledge", "K", "The most that the adversary knows before a release; 0.1,0.3 where that grows.")
@common.numbers("--entropy", "B", "The same in the paper's form, one number: the entropy of its prior, log|X| - K.")
@common.adversary("Adversary of the account; with independent records leave out --entropy and --knowledge.")
@common.REFERENCE
@common.UNIT
@click.option("--budget", type=float, metavar="L", help="The most that all releases together may leak about a record.")
@common.gap(1e-4, "Gap at which an account stops.")
@common.limit(60.0, "Seconds for one account.")
@common.AS_JSON
def new(*, path: Path, reference: Path | None, as_json: bool, **asked: Any) -> int:
    """Begin an empty ledger in the file LEDGER, which must not exist yet.

    \b
      dalenius ledger new book.json --query "count(n=4)" --knowledge 0.5 --budget 0.2
    """
    common.check_outputs({"LEDGER": path}, [reference])
    if path.exists():
        refuse(f"{path} exists already, and a new ledger replaces no file; choose another name")
    common.check_limit(asked)
    data = _data(*(asked.pop(name) for name in ("query", "records", "columns", "n")))

    from dalenius.model.reference import Reference
    from dalenius.tools.ledger import Ledger, records_of

    law = None if reference is None else Reference.from_file(reference, records_of(**data))
    for name in ("knowledge", "entropy"):
        if len(asked[name] or []) == 1:
            (asked[name],) = asked[name]
    book = Ledger(**data, reference=law, **asked)
    book.save(path)
    return _show(book, as_json=as_json)


def _data(query: str | None, records: str | None, columns: str | None, n: int | None) -> dict[str, Any]:
    """What the ledger is about, in exactly one way."""
    given = [name for name, x in (("--query", query), ("--records", records), ("--columns", columns)) if x is not None]
    if len(given) != 1:
        refuse(f"name the data in exactly one way: --query, --records, or --columns with --n; given: {given}")
    if columns is not None:
        return {"columns": dict(map(_column, columns.split(","))), "n": n}
    if n is not None:
        refuse(f"--n {n} goes with --columns; {given[0]} already fixes the number of records")
    if records is not None:
        return {"data": common.alphabet_sizes(records)}
    from dalenius.model.gallery.parse import parse_query

    return {"data": parse_query(query or "")}


def _column(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name.strip() or not size.strip().isdecimal():
        refuse(f"--columns: {text!r} is not a column; write its name and its number of values, such as age=8")
    return name.strip(), int(size)


@ledger.command("what-if")
@RELEASED
@common.AS_JSON
def what_if(*, path: Path, columns: str | None, as_json: bool, **source: Any) -> int:
    """Show the account as it would be after one more release; record nothing.

    With a budget the exit code is the verdict: 0 it would be kept, 1 it would be exceeded, 3 undecided.

    \b
      dalenius ledger new book.json --query "count(n=4)" --knowledge 0.5 --budget 0.2
      dalenius ledger what-if book.json --query "count(n=4)" --mechanism "geometric(epsilon=0.5)"
    """
    from dalenius.tools.ledger import Ledger

    book, described = Ledger.load(path), common.described(source)
    account, interrupted = _accounted(lambda: book.what_if(described, columns=_names(columns)))
    common.print_json(account.to_dict()) if as_json else click.echo(account.summary())
    if interrupted:
        return common.INTERRUPTED
    if book.budget is None:
        return 0
    from dalenius.studies.gate import EXIT, verdict_of

    verdict = verdict_of(account.lower, account.upper, book.budget)
    if not as_json:
        click.echo(f"Verdict    {verdict}: the budget is {book.budget:.9g} {book.unit}")
    return EXIT[verdict]


@ledger.command()
@RELEASED
@click.option("--name", metavar="TEXT", help="What the release is called; each has a name of its own.")
@click.option("--force", is_flag=True, help="Record it even beyond the budget.")
@common.AS_JSON
def release(*, path: Path, columns: str | None, name: str | None, force: bool, as_json: bool, **source: Any) -> int:
    """Record that a mechanism has been run, unless it goes beyond the budget: then LEDGER stays unchanged.

    \b
      dalenius ledger new book.json --query "count(n=4)" --knowledge 0.5 --budget 0.2
      dalenius ledger release book.json --query "count(n=4)" --mechanism "geometric(epsilon=0.5)" --name March
    """
    from dalenius.tools.ledger import Ledger

    book, described = Ledger.load(path), common.described(source)
    _, interrupted = _accounted(lambda: book.release(described, name, _names(columns), force=force))
    book.save(path)
    return _show(book, as_json=as_json) or (common.INTERRUPTED if interrupted else 0)


@ledger.command()
@LEDGER
@click.option("--verify", is_flag=True, help="Compute every number again and trust only the list of releases.")
@common.AS_JSON
def show(*, path: Path, verify: bool, as_json: bool) -> int:
    """Show what was released and what has leaked.

    \b
      dalenius ledger new book.json --query "count(n=4)" --knowledge 0.5 --budget 0.2
      dalenius ledger show book.json
    """
    from dalenius.tools.ledger import Ledger

    return _show(Ledger.load(path, verify=verify), as_json=as_json)


def _accounted(account: "Callable[[], Account]") -> "tuple[Account, bool]":
    """An account, and whether Ctrl-C ended the search for it."""
    from dalenius.search.deadline import Deadline

    with Deadline(math.inf) as whole:
        return account(), whole.interrupted


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _show(book: "Ledger", *, as_json: bool) -> int:
    if as_json:
        listed = [{"name": r.name, "columns": r.columns and list(r.columns)} for r in book.releases]
        left = None if book.budget is None else book.remaining()
        common.print_json({**book.account().to_dict(), "budget": book.budget, "remaining": left, "names": listed})
    else:
        click.echo(book.summary())
    return 0
