"""python -m dalenius.cli is the command dalenius."""

from dalenius.cli import main

main()
