"""What adapters ask of a query."""

from dalenius.errors import refuse
from dalenius.model.query import Query


def check_whole(query: Query) -> Query:
    """Refuse noise of whole numbers on a mean: libraries add it to the sum, whose scale is n times that of the mean."""
    if query.steps is not None:
        refuse(
            f"noise of whole numbers is added to a sum, and {query} is a mean; use dl.queries.total(n={query.n}, "
            "values=...), of which the mean is a function"
        )
    return query
