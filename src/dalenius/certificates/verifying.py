"""`dl.verify`: checks its arguments and calls the verifier. Checking a file loads neither numpy nor any solver."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalenius.certificates import certificate as certificates
from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.files import path_of
from dalenius.verifier import verify as verifier
from dalenius.verifier.kernel.limits import MEMORY, TIME_LIMIT

if TYPE_CHECKING:
    from dalenius.model.channels.mechanism import Mechanism


def verify(
    source: Any,
    mechanism: "Mechanism | Sequence[Mechanism] | None" = None,
    *,
    memory: int = MEMORY,
    time_limit: float = TIME_LIMIT,
) -> verifier.Verification:
    """Re-check a certificate in ball arithmetic, without any code of the solver.

    Args:
        source: a path, a Certificate, its data as a dict, an Audit or a Design. What this process has made itself, and
            nobody has changed since, is checked here; everything else in a child process, which the system limits.
        mechanism: if given, check also that the certificate is about this channel; of several releases together (a
            ledger's `account().certificate`), the list of them in any order.
        memory: MiB that the child may take, to within a tenth.
        time_limit: seconds for reading and checking; the child's answer is there within one second of it.

    Returns:
        A Verification: `verified`, the bounds, the problem in words, and the reason. Beyond the limits `verified` is
        False, and the reason begins with "not checked:".

    Raises:
        InputError: an argument is wrong, or the file cannot be opened.

    Example:
        >>> mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
        >>> dl.verify(dl.audit(mechanism, knowledge=0.5), mechanism=mechanism).verified
        True
    """
    mebibytes = checks.whole("memory", memory)
    seconds = checks.seconds("time_limit", time_limit)
    if mechanism is not None:
        _check_mechanisms(mechanism)
    in_file = isinstance(source, (str, os.PathLike))
    given = path_of(source) if in_file else getattr(source, "certificate", source)
    try:
        return certificates.verify(given, mechanism, memory=mebibytes, time_limit=seconds)
    except OSError as error:
        refuse(f"cannot read {given if in_file else show(given)}: {error.strerror or error}", error)


def _check_mechanisms(given: object) -> None:
    # Whoever has a mechanism has loaded the model already.
    from dalenius.model.channels.mechanism import Mechanism

    for k, mechanism in enumerate(given if isinstance(given, (list, tuple)) else [given]):
        if not isinstance(mechanism, Mechanism):
            place = f", entry {k}," if isinstance(given, (list, tuple)) else ""
            refuse(f"mechanism={place} must be a Mechanism, not {type(mechanism).__name__}")
