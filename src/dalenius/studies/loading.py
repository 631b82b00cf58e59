"""`load`: whatever `save` wrote. It stands in the last room that saves anything, so that it can name all of them."""

import os
from typing import TYPE_CHECKING

from dalenius.model.files import path_of, read_json

if TYPE_CHECKING:
    from dalenius.results.archive import Saved
    from dalenius.studies.study import Study
    from dalenius.tools.ledger import Ledger


def load(path: str | os.PathLike[str], *, verify: bool = False) -> "Saved | Ledger | Study":
    """Read what `save` wrote: an audit, a design, a curve, a frontier, a calibration, a profile, a ledger or a study.

    What the certificate does not carry (extremes, brackets of other records, labels, history, seconds) comes from the
    file, and reports say so.

    Args:
        path: the file. One that ends in .db or .toml is a study.
        verify: whether certificates are re-checked as well. Then `verified` is True, and a file whose certificate
            proves nothing is refused; otherwise `verified` is None.

    Returns:
        The result, of the class that wrote it.

    Raises:
        InputError: the file cannot be read, or its bounds, mechanism, adversary, secret or budget are not those of the
            certificate inside it.

    Example:
        >>> mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
        >>> dl.audit(mechanism, knowledge=0.5).save("audit.json")
        >>> dl.load("audit.json", verify=True).verified
        True
    """
    target = path_of(path)
    if target.suffix in (".db", ".toml"):
        from dalenius.studies.study import load_study

        return load_study(target, verify=verify)
    content = read_json(target)
    if isinstance(content, dict) and content.get("format") == "dalenius/ledger":
        from dalenius.tools.ledger import Ledger

        return Ledger.load(target, verify=verify)
    from dalenius.results.archive import result_of

    result: Saved = result_of(path, content, verify=verify)
    return result
