"""One description of a question, printed as Python and as a command."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Options by their names; a list is one option with commas on the command line.
Asked = Mapping[str, Any]
IMPORT = "import dalenius as dl\n\n"
# Delimiters that a shell makes hard to type, as the command line names them.
DELIMITERS = {"\t": "tab", " ": "blank"}


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
