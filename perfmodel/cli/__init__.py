"""The command line `perfmodel`: one thin module a command, over the library."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process; the console script."""
    from perfmodel.cli.app import app

    app()
