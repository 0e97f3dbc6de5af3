"""The app: its commands, imported when they are needed, with help and completion.

The command ``NAME`` is the function ``NAME`` of the module ``perfmodel.cli.NAME``; the function's
docstring is its help, and its examples in ``examples.toml`` are shown below.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, cast

import typer
from typer.core import TyperGroup

from perfmodel.cli.ending import errors_in_one_line
from perfmodel.cli.grouped_options import with_groups
from perfmodel.cli.ordinary import COMMANDS, command
from perfmodel.errors import PerfmodelError, nearest
from perfmodel.packaged import packaged_toml

EXAMPLES: Final = Path(__file__).with_name("examples.toml")
_SETTINGS: Final = {"help_option_names": ["-h", "--help"]}

# Typer keeps Click's exceptions private since it carries its own Click; `BadParameter` is public,
# and what it derives from is the same in both: UsageError, then ClickException.
_CLICK_ERROR: Final = cast(type[Exception], typer.BadParameter.__mro__[2])


class CommandGroup(TyperGroup):
    """Commands that are imported when they are named, and errors of one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, importing its module."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing or cmd_name.startswith("-"):
                return None
            hint = nearest(cmd_name, COMMANDS) or f"; there are {', '.join(COMMANDS)}"
            raise PerfmodelError(f"unknown command {cmd_name[:60]!r}{hint}")
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands[cmd_name]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command line and exit: 0, or 2 after an error of one line on standard error."""
        with errors_in_one_line():
            try:
                status = super().main(
                    args, prog_name, complete_var, False, windows_expand_args, **extra
                )
            except _CLICK_ERROR as error:
                raise PerfmodelError(_usage_message(error)) from None
            except typer.Abort:
                raise KeyboardInterrupt from None
        sys.exit(status if isinstance(status, int) else 0)


app = typer.Typer(
    name="perfmodel",
    cls=CommandGroup,
    context_settings=_SETTINGS,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"perfmodel {version('perfmodel')}")
        raise typer.Exit


@app.callback()
def perfmodel(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Predict how long a CUDA kernel takes on an H100 or an A100, and why, without a GPU."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _command(name: str) -> Any:
    """Return the Click command of a module."""
    run = command(name)
    # "\b" keeps the lines that follow as they are.
    examples = [f"$ {example}" for example in packaged_toml(EXAMPLES)[name]]
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(
        name,
        context_settings=_SETTINGS,
        epilog="\b\n" + "\n".join(["Examples:", *examples]),
    )(with_groups(run))
    return typer.main.get_command(single)


def _usage_message(error: Any) -> str:
    # "Value error" is pydantic's word, which newer Typers pass on.
    message = error.format_message().replace("Value error, ", "").strip().removesuffix(".")
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return f"{message}; see {context.command_path} --help" if context else message
