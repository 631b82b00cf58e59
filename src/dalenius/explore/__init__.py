"""A page on one's own machine where one turns the knobs and sees what a release tells."""
