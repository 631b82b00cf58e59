"""How to reproduce a result: the same question as a command and in Python, where it has names."""

from dalenius.model.secret import Attributes, members
from dalenius.report.call import IMPORT, Asked, Call, Subject, of_mechanism, of_query
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

# Measures of distortion that have a name of their own on the command line, by their words.
MEASURES = {"absolute error": "absolute", "squared error": "squared", "share of wrong answers": "zero-one"}

LOADED_DESIGNS = "# The certificates hold the designs. Load the saved result:\ndl.load(FILE).designs"


def audit_again(audit: Audit) -> str:
    """Return the command and the Python of an audit."""
    return _about_mechanism(audit, "audit", {**_adversary(audit), **_secret(audit), **_relative(audit, 1e-3)})


def curve_again(curve: Curve) -> str:
    """Return the command and the Python of a curve."""
    first = curve.audits[0]
    given = [(a.entropy if first.adversary.given == "entropy" else a.knowledge) for a in curve.audits]
    listed = {"entropies" if first.adversary.given == "entropy" else "knowledges": given}
    return _about_mechanism(first, "curve", {**listed, **_relative(first, 1e-3)}, "audits[0].mechanism")


def profile_again(profile: Profile) -> str:
    """Return the command and the Python of a profile."""
    first = profile.leakage.audits[0]
    listed = {
        "entropies" if first.adversary.given == "entropy" else "knowledges": [
            getattr(audit, first.adversary.given) for audit in profile.leakage.audits
        ]
    }
    return _about_mechanism(first, "profile", listed, function="mechanism.profile")


def _about_mechanism(audit: Audit, verb: str, given: Asked, attribute: str = "mechanism", function: str = "") -> str:
    """The command and the Python of a question about a mechanism; held: where a saved result has it."""
    query, name = audit.mechanism.query, audit.mechanism.name
    options = {**given, **_wanted(audit)}
    if query is None or name is None or not query.named:
        # A channel without a name is taken from the saved result.
        loaded = Call(verb, Subject("", ""), options, function)
        return f'{_note(audit)}{IMPORT}mechanism = dl.load("RESULT.json").{attribute}\n{loaded.python}'
    return f"{_note(audit)}{Call(verb, of_mechanism(query, name), options, function).both()}"


def frontier_again(frontier: Frontier) -> str:
    """Return the command and the Python of a frontier; how to load it where its query has no name."""
    first = frontier.designs[0]
    if not frontier.query.named:
        return LOADED_DESIGNS
    named = {} if frontier.named else {"named": False}
    both = {} if frontier.independent is None else {"adversary": "both"}
    options = {**_adversary(first.leakage), **both, "points": len(frontier.designs), **named, **_wanted(first)}
    return f"{_note(first.leakage)}{Call('frontier', of_query(frontier.query), options).both()}"


def calibration_again(calibration: Calibration) -> str:
    """Return the command and the Python of a calibration; those of its audit where a ledger found it."""
    audit, query = calibration.leakage, calibration.mechanism.query
    if calibration.together is not None or query is None or not query.named:
        return audit_again(audit)
    unit = {} if audit.unit == "nats" else {"unit": audit.unit}
    accuracy = {"accuracy": calibration.accuracy, "seed": audit.seed}
    options = {"leakage": calibration.budget, **_adversary(audit), **unit, **accuracy}
    asked = of_query(query)
    subject = Subject(f"--family {calibration.family} {asked.flags}", asked.python, asked.called)
    call = Call("calibrate", subject, options, first=f'"{calibration.family}", ')
    return f"{_note(audit)}{call.both()}"


def design_again(design: Design) -> str:
    """Return the command and the Python of a design; nothing where its question has no name."""
    if not design.query.named or design.beside or design.distortion_name not in MEASURES:
        return ""
    budget = {"distortion" if design.goal == "leakage" else "leakage": design.budget}
    measure = {"measure": MEASURES[design.distortion_name]}
    options = {**measure, **budget, **_adversary(design.leakage), **_wanted(design), **_relative(design, 0.0)}
    return f"{_note(design.leakage)}{Call('design', of_query(design.query), options).both()}"


def _note(audit: Audit) -> str:
    missing = [] if audit.secret is None or _secret(audit) else ["the secret"]
    missing += [] if audit.reference.uniform else ["the reference"]
    return f"# with {' and '.join(missing)} of this report\n" if missing else ""


def _secret(audit: Audit) -> Asked:
    """The secret, where it is records or their attributes: another function has no name."""
    if isinstance(audit.secret, Attributes):
        return {"secret": list(audit.secret.words)}
    records = None if audit.secret is None else members(audit.secret)
    return {} if records is None else {"secret": list(records)}


def _adversary(audit: Audit) -> Asked:
    """The adversary as it was given."""
    value = audit.entropy if audit.adversary.given == "entropy" else audit.knowledge
    limit = {str(audit.adversary.given): value}
    if audit.adversary.kind != "independent":
        return limit
    return {"adversary": "independent", **({} if audit.adversary.unlimited else limit)}


def _wanted(result: Audit | Design) -> Asked:
    """How the answer was wanted, where that is not the default."""
    unit = {} if result.unit == "nats" else {"unit": result.unit}
    method = {} if result.method == "certified" else {"method": "paper"}
    return {**unit, **method, "tolerance": result.tolerance, "seed": result.seed}


def _relative(result: Audit | Design, usual: float) -> Asked:
    """The relative tolerance, where it is not the usual one."""
    return {"relative": result.relative} if result.relative != usual else {}
