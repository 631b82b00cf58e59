"""Certified maximal per-record leakage of randomised mechanisms against adversaries of bounded knowledge.

import dalenius as dl
mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
dl.audit(mechanism, entropy=2.2)
"""

# Nothing is imported here, not even the version: the command starts quickly, and Ctrl-C finds it ready
# (see __main__.py).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dalenius import paper, settings, sklearn
    from dalenius.adapters.curves import from_privacy_curve
    from dalenius.adapters.diffprivlib import from_diffprivlib
    from dalenius.adapters.opendp import from_opendp
    from dalenius.api.audits import audit, curve
    from dalenius.api.designs import design, frontier
    from dalenius.certificates.certificate import Certificate
    from dalenius.certificates.coq import to_coq
    from dalenius.certificates.verifying import verify
    from dalenius.errors import BudgetError, InputError
    from dalenius.model.adversary import Adversary
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.files import __version__ as __version__
    from dalenius.model.gallery import knowledge, mechanisms, queries
    from dalenius.model.prior import Prior
    from dalenius.model.query import Query
    from dalenius.results.audit import Audit, Curve
    from dalenius.results.calibration import Calibration
    from dalenius.results.design import Design, Frontier
    from dalenius.results.profile import Profile
    from dalenius.settings import Settings
    from dalenius.studies.loading import load
    from dalenius.studies.study import Study
    from dalenius.tools.account import Account
    from dalenius.tools.calibration import calibrate
    from dalenius.tools.composition import adaptive, compose
    from dalenius.tools.ledger import Ledger
    from dalenius.tools.many import audit_many
    from dalenius.tools.measures import g_leakage, leakage
    from dalenius.verifier.verify import Verification

__all__ = [
    "Account",
    "Adversary",
    "Audit",
    "BudgetError",
    "Calibration",
    "Certificate",
    "Curve",
    "Design",
    "Frontier",
    "InputError",
    "Ledger",
    "Mechanism",
    "Prior",
    "Profile",
    "Query",
    "Settings",
    "Study",
    "Verification",
    "adaptive",
    "audit",
    "audit_many",
    "calibrate",
    "compose",
    "curve",
    "design",
    "from_diffprivlib",
    "from_opendp",
    "from_privacy_curve",
    "frontier",
    "g_leakage",
    "knowledge",
    "leakage",
    "load",
    "mechanisms",
    "paper",
    "queries",
    "settings",
    "sklearn",
    "to_coq",
    "verify",
]

# Where each public name lives; loaded on first use, which keeps `import dalenius` quick.
_HOME = {
    "queries": "dalenius.model.gallery.queries",
    "knowledge": "dalenius.model.gallery.knowledge",
    "mechanisms": "dalenius.model.gallery.mechanisms",
    "Mechanism": "dalenius.model.channels.mechanism",
    "InputError": "dalenius.errors",
    "BudgetError": "dalenius.errors",
    "__version__": "dalenius.model.files",
    "audit": "dalenius.api.audits",
    "audit_many": "dalenius.tools.many",
    "verify": "dalenius.certificates.verifying",
    "to_coq": "dalenius.certificates.coq",
    "curve": "dalenius.api.audits",
    "design": "dalenius.api.designs",
    "frontier": "dalenius.api.designs",
    "calibrate": "dalenius.tools.calibration",
    "compose": "dalenius.tools.composition",
    "adaptive": "dalenius.tools.composition",
    "g_leakage": "dalenius.tools.measures",
    "leakage": "dalenius.tools.measures",
    "Ledger": "dalenius.tools.ledger",
    "from_diffprivlib": "dalenius.adapters.diffprivlib",
    "from_privacy_curve": "dalenius.adapters.curves",
    "from_opendp": "dalenius.adapters.opendp",
    "load": "dalenius.studies.loading",
    "paper": "dalenius.paper",
    "settings": "dalenius.settings",
    "sklearn": "dalenius.sklearn",
    # What they take and return.
    "Account": "dalenius.tools.account",
    "Adversary": "dalenius.model.adversary",
    "Audit": "dalenius.results.audit",
    "Calibration": "dalenius.results.calibration",
    "Certificate": "dalenius.certificates.certificate",
    "Curve": "dalenius.results.audit",
    "Design": "dalenius.results.design",
    "Frontier": "dalenius.results.design",
    "Prior": "dalenius.model.prior",
    "Profile": "dalenius.results.profile",
    "Query": "dalenius.model.query",
    "Settings": "dalenius.settings",
    "Study": "dalenius.studies.study",
    "Verification": "dalenius.verifier.verify",
}


# Hidden from type checkers, which would take any name for granted.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for (PEP 562)."""
        if name not in _HOME:
            hint = ""
            if not name.startswith("_"):
                from dalenius.errors import nearest

                hint = f"; {nearest(name, __all__)}"
            message = f"module 'dalenius' has no attribute {name!r}{hint}"
            raise AttributeError(message)
        from importlib import import_module

        module = import_module(_HOME[name])
        modules = ("queries", "mechanisms", "knowledge", "paper", "settings", "sklearn")
        found: object = module if name in modules else getattr(module, name)
        # Kept, so that the next use of the name does not come here.
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Public names only: rooms that happen to be imported are not among them."""
    return sorted([*__all__, "__version__"])
