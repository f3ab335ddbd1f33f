"""The page of all commands, from the command line itself: ``python docs/commands.py > docs/commands.md``."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from ramify.cli import app

HEAD = """# Commands

All that `ramify COMMAND --help` says. A mistake is told in one sentence and ends with exit code 1,
a wrong option with 2.
"""


def page() -> str:
    """All of it, in Markdown."""
    return "\n".join([HEAD, *(section(name, command) for name, command in commands(get_command(app)))]).rstrip() + "\n"


def commands(command: Any, name: str = "ramify") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its full name."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for own, child in command.commands.items():
        yield from commands(child, f"{name} {own}")


def section(name: str, command: Any) -> str:
    """What one command does, what it is given, and what may be said beside."""
    parameters = [parameter for parameter in command.params if not parameter.hidden]
    given = [_called(each) for each in parameters if each.param_type_name == "argument"]
    usage = " ".join([name, *given, "[OPTIONS]"])
    rows = [f"| `{_called(each)}` | {_said(each)} |" for each in parameters]
    return "\n".join([f"## {name}", "", _cell(command.help), "", f"    {usage}", "", "| | |", "|---|---|", *rows, ""])


def _called(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        return name if parameter.required or name.startswith("[") else f"[{name}]"
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def _said(parameter: Any) -> str:
    """The help, and what holds if nothing is said; only what all versions of Typer know."""
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if default is True:
        default = parameter.opts[0]
    shown = default not in (None, False, (), [], ...) and not callable(default) and not parameter.required
    return _cell(parameter.help) + (f" Default: {_cell(getattr(default, 'value', default))}." if shown else "")


def _cell(text: object) -> str:
    return " ".join(str(text or "").split()).replace("|", r"\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(page(), end="")
