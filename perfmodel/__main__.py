"""Run the command line as `python -m perfmodel`."""

from perfmodel.cli import main

main()
