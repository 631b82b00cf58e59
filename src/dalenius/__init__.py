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
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.files import __version__ as __version__
    from dalenius.model.gallery import knowledge, mechanisms, queries
    from dalenius.model.prior import Prior
    from dalenius.model.problem import Adversary
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
    "Account", "Adversary", "Audit", "BudgetError", "Calibration", "Certificate", "Curve", "Design", "Frontier",
    "InputError", "Ledger", "Mechanism", "Prior", "Profile", "Query", "Settings", "Study", "Verification", "adaptive",
    "audit", "audit_many", "calibrate", "compose", "curve", "design", "from_diffprivlib", "from_opendp",
    "from_privacy_curve", "frontier", "g_leakage", "knowledge", "leakage", "load", "mechanisms", "paper", "queries",
    "settings", "sklearn", "to_coq", "verify",
]  # fmt: skip

# Where each public name lives; loaded on first use, which keeps `import dalenius` quick. Modules are without a name.
_HOME = {
    "adapters.curves": ("from_privacy_curve",),
    "adapters.diffprivlib": ("from_diffprivlib",),
    "adapters.opendp": ("from_opendp",),
    "api.audits": ("audit", "curve"),
    "api.designs": ("design", "frontier"),
    "certificates.certificate": ("Certificate",),
    "certificates.coq": ("to_coq",),
    "certificates.verifying": ("verify",),
    "errors": ("BudgetError", "InputError"),
    "model.channels.mechanism": ("Mechanism",),
    "model.files": ("__version__",),
    "model.gallery.knowledge": (),
    "model.gallery.mechanisms": (),
    "model.gallery.queries": (),
    "model.prior": ("Prior",),
    "model.problem": ("Adversary",),
    "model.query": ("Query",),
    "paper": (),
    "results.audit": ("Audit", "Curve"),
    "results.calibration": ("Calibration",),
    "results.design": ("Design", "Frontier"),
    "results.profile": ("Profile",),
    "settings": ("Settings",),
    "sklearn": (),
    "studies.loading": ("load",),
    "studies.study": ("Study",),
    "tools.account": ("Account",),
    "tools.calibration": ("calibrate",),
    "tools.composition": ("adaptive", "compose"),
    "tools.ledger": ("Ledger",),
    "tools.many": ("audit_many",),
    "tools.measures": ("g_leakage", "leakage"),
    "verifier.verify": ("Verification",),
}


# Hidden from type checkers, which would take any name for granted.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for (PEP 562)."""
        from importlib import import_module

        if name not in __all__ and name != "__version__":
            from dalenius.errors import nearest

            hint = "" if name.startswith("_") else f"; {nearest(name, __all__)}"
            message = f"module 'dalenius' has no attribute {name!r}{hint}"
            raise AttributeError(message)
        home = next(home for home, names in _HOME.items() if name in names or name == home.rpartition(".")[2])
        module = import_module(f"dalenius.{home}")
        found: object = getattr(module, name) if name in _HOME[home] else module
        # Kept, so that the next use of the name does not come here.
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Public names only: rooms that happen to be imported are not among them."""
    return sorted([*__all__, "__version__"])
