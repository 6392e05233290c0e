"""The command that says what stands in the way, and what mends it."""

from __future__ import annotations

import typer

from dovetail.cli.output import (
    CatalogOption,
    JsonOption,
    console,
    print_json,
    print_line,
    rich_table,
    settings_for,
)
from dovetail.text import count


def doctor(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Look at versions, extensions, models, services and the catalog; say what mends what."""
    from dovetail.api.doctor import diagnose

    findings = list(diagnose(settings_for(catalog)))
    wrong = [finding for finding in findings if not finding.well]
    if as_json:
        print_json({"well": not wrong, "findings": [finding.to_dict() for finding in findings]})
    else:
        listing = rich_table("", "part", "what", "seen")
        for one in findings:
            listing.add_row("ok" if one.well else "!!", one.part, one.subject, one.seen)
        console().print(listing)
        for one in wrong:
            print_line(f"{one.part}, {one.subject}: {one.remedy}")
        print_line(f"{count(len(wrong), 'thing')} to mend" if wrong else "All is well.")
    if wrong:
        raise typer.Exit(1)
