"""The one exception a user of dalenius is meant to see."""


class InputError(ValueError):
    """Something given by the user cannot be used; the message names value, place and remedy."""
