"""`dl.verify`: checks its arguments and calls the verifier. Checking a file loads neither numpy nor any solver."""

import os
from typing import TYPE_CHECKING, Any

from dalenius.errors import InputError, show
from dalenius.model import checks
from dalenius.model.files import path_of
from dalenius.verifier import verify as verifier
from dalenius.verifier.limits import MEMORY, TIME_LIMIT

if TYPE_CHECKING:
    from dalenius.model.channels.mechanism import Mechanism


def verify(
    source: Any,  # noqa: ANN401 - path, Certificate or result
    mechanism: "Mechanism | None" = None,
    *,
    memory: int = MEMORY,
    time_limit: float = TIME_LIMIT,
) -> verifier.Verification:
    """Re-check a certificate in ball arithmetic, without any code of the solver.

    Args:
        source: a path, a Certificate, an Audit or a Design. A file is checked in a process of its own.
        mechanism: if given, check also that the certificate is about this channel.
        memory: MiB that reading and checking may take together.
        time_limit: seconds for the same.

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
        _check_mechanism(mechanism)
    in_file = isinstance(source, (str, os.PathLike))
    given = path_of(source) if in_file else getattr(source, "certificate", source)
    try:
        return verifier.verify(given, mechanism=mechanism, memory=mebibytes, time_limit=seconds)
    except OSError as error:
        message = f"cannot read {show(given)}: {error.strerror or error}"
        raise InputError(message) from error


def _check_mechanism(mechanism: object) -> None:
    # Whoever has a mechanism has loaded the model already.
    from dalenius.model.channels.mechanism import Mechanism  # noqa: PLC0415 - numpy, which files do not need

    if not isinstance(mechanism, Mechanism):
        message = f"mechanism= must be a Mechanism, not {type(mechanism).__name__}"
        raise InputError(message)
