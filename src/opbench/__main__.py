"""`python -m opbench`: the command line, for where its script is not on the path."""

from opbench.cli.main import main

main()
