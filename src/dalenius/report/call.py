"""How to reproduce a result: one description of its question, printed as Python and as a command."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.model.secret import Attributes, members
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

# Options by their names; a list is one option with commas on the command line.
Asked = Mapping[str, Any]
IMPORT = "import dalenius as dl\n\n"
# Delimiters that a shell makes hard to type, as the command line names them.
DELIMITERS = {"\t": "tab", " ": "blank"}
# Measures of distortion that have a name of their own on the command line, by their words.
MEASURES = {"absolute error": "absolute", "squared error": "squared", "share of wrong answers": "zero-one"}

LOADED_DESIGNS = "# The certificates hold the designs. Load the saved result:\ndl.load(FILE).designs"


@dataclass(frozen=True)
class Subject:
    """What a question is about: flags of the command, Python that builds it, and its name there.

    before: commands that have to run first.
    """

    flags: str
    python: str
    called: str = "mechanism"
    before: str = ""


def of_query(query: object) -> Subject:
    """A query of the gallery."""
    return Subject(f"--query {shell(query)}", f"query = dl.queries.{query}\n", "query")


def of_mechanism(query: object, mechanism: object) -> Subject:
    """A mechanism of the gallery."""
    family, arguments = str(mechanism).removesuffix(")").split("(", 1)
    given = f", {arguments}" if arguments else ""
    asked = of_query(query)
    python = f"{asked.python}mechanism = dl.mechanisms.{family}(query{given})\n"
    return Subject(f"{asked.flags} --mechanism {shell(mechanism)}", python)


def of_matrix(file: str, records: list[int], reading: Asked) -> Subject:
    """A matrix in a file; reading: how it is read."""
    words = {name: DELIMITERS.get(str(value), value) for name, value in reading.items()}
    flags = as_flags({"channel": file, "records": records, **words})
    python = f"mechanism = dl.Mechanism.from_matrix({as_keywords({'': file, 'records': records, **reading})})\n"
    return Subject(flags, python)


def of_file(file: str, *, result: bool) -> Subject:
    """A saved mechanism, or that of a saved result."""
    if not result:
        return Subject(f"--load {shell(file)}", f"mechanism = dl.Mechanism.load({file!r})\n")
    save = f"import dalenius as dl; dl.load({file!r}).mechanism.save('mechanism.json')"
    before = f"python -c {shlex.quote(save)}\n"
    return Subject("--load mechanism.json", f"mechanism = dl.load({file!r}).mechanism\n", before=before)


@dataclass(frozen=True)
class Call:
    """A question: the verb of its command, its subject and its options.

    function: what Python calls where that is not dl.<verb>. first: arguments of Python before the subject; the command
    has them among its flags. law: public frequencies of every record.
    """

    verb: str
    subject: Subject
    options: Asked
    function: str = ""
    first: str = ""
    law: list[float] | None = None

    @property
    def python(self) -> str:
        """The call in Python; its result has the name of the verb."""
        law = {} if self.law is None else {"reference": self.law}
        keywords = as_keywords({**self.options, **law})
        if self.function:
            return f"{self.verb} = {self.function}({keywords})"
        return f"{self.verb} = dl.{self.verb}({self.first}{self.subject.called}, {keywords})"

    @property
    def command(self) -> str:
        """The command, after those that it needs."""
        before, flags = self.subject.before, as_flags(self.options)
        if self.law is not None:
            before += f"printf '{','.join(map(repr, self.law))}\\n' > reference.csv\n"
            flags += " --reference reference.csv"
        return f"{before}dalenius {self.verb} {self.subject.flags} {flags}"

    def both(self) -> str:
        """The command, then the whole of the Python."""
        return f"{self.command}\n\n{IMPORT}{self.subject.python}{self.python}"


def shell(given: object) -> str:
    """Return a text as one word of a shell, in double quotes where nothing in it has a meaning inside of them."""
    text = str(given)
    if shlex.quote(text) == text:
        return text
    return shlex.quote(text) if set(text) & set('"$`\\!') or not text.isprintable() else f'"{text}"'


def as_flags(options: Asked) -> str:
    """Return options as the command line takes them."""
    flags = {False: "--no-{}", True: "--{}"}
    return " ".join(
        flags[value].format(name) if isinstance(value, bool) else f"--{name.replace('_', '-')} {_listed(value)}"
        for name, value in options.items()
    )


def _listed(value: object) -> str:
    return shell(",".join(map(str, value)) if isinstance(value, list) else value)


def as_keywords(options: Asked) -> str:
    """Return options as arguments; one without a name comes by its place."""
    shown = {name: 'float("inf")' if value == math.inf else _quoted(value) for name, value in options.items()}
    return ", ".join(f"{name}={value}" if name else value for name, value in shown.items())


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value and value.isprintable() else repr(value)


def audit_again(audit: Audit) -> str:
    """Return the command and the Python of an audit."""
    return _about_mechanism(audit, "audit", {**_adversary(audit), **_secret(audit), **_relative(audit, 1e-3)})


def curve_again(curve: Curve) -> str:
    """Return the command and the Python of a curve."""
    first = curve.audits[0]
    return _about_mechanism(first, "curve", {**_limits(curve.audits), **_relative(first, 1e-3)}, "audits[0].mechanism")


def profile_again(profile: Profile) -> str:
    """Return the command and the Python of a profile."""
    audits = profile.leakage.audits
    return _about_mechanism(audits[0], "profile", _limits(audits), function="mechanism.profile")


def _limits(audits: Sequence[Audit]) -> Asked:
    """What the adversary may know at each point, as it was given."""
    given = str(audits[0].adversary.given)
    return {"entropies" if given == "entropy" else "knowledges": [getattr(audit, given) for audit in audits]}


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
