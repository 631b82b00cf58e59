"""dalenius prove: write a certificate as a file that Coq checks."""

from pathlib import Path

import click

from dalenius.cli.common import FILE


@click.command()
@click.argument("certificate", type=FILE)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it; else it is printed.")
def prove(*, certificate: Path, out: Path | None) -> None:
    """Write a file that Coq with Coq-Interval accepts exactly if the certificate's bounds are proved.

    \b
      dalenius audit --channel examples/channel.csv --records 2,2,2 --entropy 0 --certificate proof.json
      dalenius prove proof.json --out proof.v
      coqc -R proofs Dalenius proof.v

    The theorems that it rests on are in the folder proofs of the project, which `make prove` compiles. Exit code 2: the
    certificate is of a form that has no proof in Coq yet, or too large for one.
    """
    from dalenius.certificates.certificate import Certificate
    from dalenius.certificates.coq import to_coq
    from dalenius.model import files

    text = to_coq(Certificate.load(certificate))
    if out is None:
        click.echo(text, nl=False)
    else:
        files.write(out, text.encode())
