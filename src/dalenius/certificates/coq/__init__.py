"""From a certificate to a file that Coq checks: data, and theorems that follow from proofs/ by computing.

Nothing here is trusted. What is written is a question, a witness and trees, or a pool of priors; the theorems of
`proofs/` say what follows where Coq's own arithmetic accepts them.
"""

from typing import Any

from dalenius.certificates.coq.audits import audit
from dalenius.certificates.coq.designs import design
from dalenius.certificates.coq.question import refuse
from dalenius.errors import InputError
from dalenius.verifier.kernel.reading import Refused

FORMATS = {"dalenius/audit-certificate", "dalenius/design-certificate"}


def to_coq(certificate: Any) -> str:
    """Return a file for Coq with Coq-Interval that is accepted exactly if the certificate's bounds are proved.

    Compile it beside the files of `proofs/`, as `make prove` does. It needs an audit of a finite channel at bounded
    knowledge from the uniform prior, every record, whose upper bounds are trees of posteriors or of choices; one
    against independent records; or a design whose mechanism has such a tree.

    Args:
        certificate: a Certificate, its data, an Audit or a Design.

    Returns:
        The text of the file: the question, both bounds, and two theorems, `lower_bound` and `upper_bound`; of a design
        a third, `distortion_bound`, and the lower bound holds for every mechanism that keeps the budget.

    Raises:
        InputError: the certificate is of a form that has no proof in Coq, or too large for one.

    Example:
        >>> audit = dl.audit(dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.3), entropy=0)
        >>> "Theorem upper_bound" in dl.to_coq(audit)
        True
    """
    found = getattr(certificate, "certificate", certificate)
    data = getattr(found, "data", found)
    if not isinstance(data, dict) or data.get("format") not in FORMATS:
        refuse("it is not the certificate of an audit or a design")
    try:
        return "\n".join([*(design if "audit" in data else audit)(data), ""])
    except (LookupError, AttributeError, TypeError, ValueError, ArithmeticError, Refused) as error:
        if isinstance(error, InputError):
            raise
        refuse(f"it is damaged ({type(error).__name__}: {error})")
