"""`python -m dalenius` is the command `dalenius`."""

from dalenius.cli import main

main()
