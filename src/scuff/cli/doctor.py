"""`scuff doctor`: what this installation has and lacks."""

from __future__ import annotations

import typer


def doctor_command() -> None:
    """Print versions, devices, caches, optional parts and what is missing: for you, or for an issue report.

    A small picture goes through three corruptions on every device, and must come out as plain torch makes it. The exit
    code is 1 if it does not.

    \b
    Example:
      scuff doctor > report.txt
    """
    from scuff.doctor import diagnose, missing_parts

    facts = diagnose()
    for title, lines in facts.items():
        typer.echo(title)
        width = max(len(name) for name, _ in lines)
        for name, value in lines:
            typer.echo(f"  {name:{width}}  {value}")
    lacking = missing_parts()
    if lacking:
        typer.echo("missing, if you want it")
        for extra, gain in lacking.items():
            install = f'pip install "scuff[{extra}]"'
            typer.echo(f"  {install:<28}  {gain}")
    if any(word in value for _, value in facts["trial"] for word in ("WRONG", "FAILED")):
        raise typer.Exit(1)
