"""Kinds of upper bounds in words: what reports call them, what each states, and where it is explained.

Certificates and JSON keep the short kind. docs/guarantees.md has an anchor for every kind, as `#bound-sibson`.
"""

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """How a report names a bound, what it states in one sentence, and the section of docs/mathematics.md."""

    name: str
    states: str
    section: str


KINDS = {
    "trivial": Kind("the trivial bound", "No release leaks more than log|A| or log|Y|.", "4.1"),
    "reference": Kind(
        "the reference prior's own leakage", "Without knowledge the reference is the only prior allowed.", "1"
    ),
    "maximal": Kind(
        "the maximal-leakage bound",
        "Knowledge plus the maximal leakage from secret to row, under the reference.",
        "4.8",
    ),
    "sibson": Kind(
        "the order-alpha bound",
        "A multiple of the knowledge plus Sibson's information of order alpha under the reference.",
        "4.8",
    ),
    "blend": Kind(
        "the blended bound", "Part entropy of the secret, part divergence from the reference, after the noise.", "4.8"
    ),
    "centre": Kind(
        "the noise-around-the-mean bound", "Divergence of every row from the noise around the mean answer.", "4.9"
    ),
    "own-count": Kind(
        "the own-count bound",
        "Divergence through the noise from laws in which a record's value goes with its own count.",
        "4.8",
    ),
    "moved": Kind(
        "the moved-counts bound",
        "Divergence through the noise from laws in which a few people more or fewer have a value.",
        "4.8",
    ),
    "law": Kind(
        "the output-law bound", "Divergence of every row from a law of outputs that is constant by steps.", "4.9"
    ),
    "product": Kind(
        "the local-randomiser bound",
        "The leakage of one record's own noisy answer, plus what the answers of the others keep of the knowledge.",
        "4.12",
    ),
    "looks": Kind("the bound of n looks", "The capacity of one bit that is seen through the noise n times.", "4.12"),
    "bellman": Kind(
        "the step-by-step bound",
        "What an adversary learns who chooses the law of each bit after seeing the outputs so far.",
        "4.12",
    ),
    "beside": Kind(
        "the bound of a release beside local randomisers",
        "Randomised records are seen first, which contracts what is known; then the release, given how many say yes.",
        "4.12",
    ),
    "symmetric": Kind(
        "the symmetric-channel bound",
        "The capacity of a record whose value is kept, or replaced by any other value with equal chance.",
        "4.12",
    ),
    "power": Kind(
        "the entropy-power bound",
        "The entropy of a count and Gaussian noise is at least what their entropies give together.",
        "4.13",
    ),
    "choices": Kind(
        "a search over choices of rows", "The capacity of the best choice of one row for each secret value.", "4.1"
    ),
    "capacity": Kind("the capacity bound", "The leakage about the whole dataset, with that knowledge.", "4.4"),
    "convex": Kind(
        "the convex bound", "The maximum of a concave function of the prior that is nowhere below the leakage.", "4.4"
    ),
    "contraction": Kind(
        "the contraction bound",
        "Noise brings rows together: less a multiple of divergence, leakage is concave in the prior.",
        "4.3",
    ),
    "simplices": Kind(
        "a tree of simplices",
        "Priors are divided by their laws of rows given the secret, and every part is bounded.",
        "4.7",
    ),
    "posteriors": Kind(
        "a tree of posteriors",
        "Priors are divided by the posteriors that they lead to, and every part is bounded.",
        "4.10",
    ),
    "monotone": Kind(
        "monotone rows",
        "Where likelihood ratios are monotone, the best law of the rows of each secret value lies between two chains.",
        "4.11",
    ),
    "grid": Kind(
        "a tree of posteriors, or one for every row, on grid rows",
        "Every row is a mixture of rows on a grid, which can only leak more, and the priors over those are divided.",
        "2.3",
    ),
    "window": Kind(
        "a tree of posteriors on the rows and outputs that matter",
        "What is far tells the secret itself, which can only leak more, and the priors over the rest are divided.",
        "2.4",
    ),
    "lines": Kind(
        "one law of outputs for everything that the others may be",
        "With independent records the worst adversary knows the others: one capacity for each of them.",
        "10",
    ),
    "shift": Kind(
        "one law of outputs for all sums of the others",
        "What one record adds to the sum, with the noise: no release of the sum leaks more, whatever the others are.",
        "10",
    ),
    "indicators": Kind(
        "the record seen as noisy bits",
        "Through geometric noise on every count one record is seen as one noisy bit for each value, and no more.",
        "10",
    ),
    "counts": Kind(
        "one law for all counts",
        "Noise on every count tells no more of one record than one count moved by one, and the others as they are.",
        "10",
    ),
    "own": Kind(
        "the record's own channel",
        "Every record has its own channel, and what comes of independent others tells nothing of it.",
        "10",
    ),
    "averaged": Kind(
        "the capacity of the averaged channel",
        "The others follow the reference exactly: one channel from the record to the output.",
        "10",
    ),
    "snapped": Kind(
        "records moved to the middles of cells",
        "A small move of the answer changes the leakage by no more than the root of the Fisher information.",
        "11",
    ),
    "rounded": Kind(
        "records rounded to a grid",
        "Except for a small share, the release is one of records that were rounded at random to a grid.",
        "11",
    ),
    "stepped": Kind(
        "records rounded to steps",
        "The mechanism rounds real-valued records to steps itself: a bound on whole numbers, one for all digits.",
        "11",
    ),
    "rows": Kind("one tree per secret value", "The best law of the rows of each secret value is bounded alone.", "4.2"),
}


def bound_words(kind: str) -> str:
    """Return `the order-alpha bound (sibson)`; of a kind that is not listed `the bound (kind)`."""
    return f"{KINDS[kind].name if kind in KINDS else 'the bound'} ({kind})"


def bound_place(kind: str) -> str:
    """Return where a kind is explained, to be added to its words; nothing where it is not listed."""
    return f"; see Mathematics {KINDS[kind].section}" if kind in KINDS else ""


def explained(text: str) -> str:
    """Mark the kinds named in escaped HTML, so that pointing at one shows what it states.

    Reports have to be readable anywhere, so nothing is linked that would have to be fetched.
    """
    for kind, about in KINDS.items():
        words = html.escape(bound_words(kind))
        title = html.escape(f"{about.states} Mathematics, section {about.section}; What is promised, #bound-{kind}.")
        text = text.replace(words, f'<abbr title="{title}">{words}</abbr>')
    return text
