"""What the command prints: answers on stdout, remarks on stderr, JSON for programs.

Rich draws tables and nothing else, and gets every cell as finished text, so that nobody's name is read as markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from relayger.cli.text import clean, line
from relayger.client.errors import APIError, NetworkError, RelaygerError
from relayger.client.shapes import Ref


def out(text: str, *, newline: bool = True) -> None:
    """Print a result."""
    typer.echo(clean(text), nl=newline)


def note(text: str) -> None:
    """Print a remark to stderr, so that results can be piped."""
    typer.echo(clean(text), err=True)


def as_json(value: Any) -> None:
    """Print JSON as the API sent it. ASCII only: a terminal finds nothing in it to obey."""
    typer.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, whole: Sequence[str] = ()) -> None:
    """Print rows of one-line texts: a table to a person, lines with tabs to a program.

    `whole` names columns that are not broken over lines, such as ids that are copied.
    """
    safe = [[line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in safe:
            typer.echo("\t".join(row))
        return
    from rich import box  # noqa: PLC0415  only a person at a terminal waits for it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        grid.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in safe:
        grid.add_row(*map(Text, row))
    Console(markup=False, highlight=False, emoji=False).print(grid)


def who(ref: Ref) -> str:
    """An identity as people name it."""
    name = line(ref["display_name"], 40)
    return f"@{line(ref['handle'])}" + (f" ({name})" if name else "")


def failure(error: RelaygerError, *, json_wanted: bool) -> None:
    """Tell of a failed call: a line on stderr, or the error's JSON on stdout."""
    if json_wanted:
        as_json({"error": (isinstance(error, APIError) and error.data) or _body(error)})
        return
    if not isinstance(error, APIError):
        note(f"relayger: {error}")
        return
    at = f"{error.field}: " if error.field else ""
    note(f"relayger: {at}{line(error.message)} ({line(error.code)})")
    for hint in _hints(error):
        note(f"  {line(hint)}")


def _hints(error: APIError) -> Iterable[str]:
    if error.next:
        yield error.next
    suggestions = error.data.get("suggestions")
    if isinstance(suggestions, list) and suggestions:
        yield "Free: " + ", ".join(str(suggestion) for suggestion in suggestions)
    if error.retry_after:
        yield f"Try again in {error.retry_after:.0f} s."


def _body(error: RelaygerError) -> dict[str, Any]:
    """An error that the service did not send, in the shape of those it sends."""
    code = getattr(error, "code", "network" if isinstance(error, NetworkError) else "invalid")
    return {"code": code, "message": str(error), "field": None, "next": None}
