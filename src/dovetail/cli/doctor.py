"""The commands that say what stands in the way, name what is damaged of a catalog, and mend it."""

from __future__ import annotations

import typer

import dovetail
from dovetail.cli import options
from dovetail.cli.output import console, print_json, print_line, rich_table, settings_for
from dovetail.text import count


def doctor(catalog: options.Catalog = None, as_json: options.Json = False) -> None:
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


def check(catalog: options.Catalog = None, as_json: options.Json = False) -> None:
    """Read every file of a catalog, and name those that are damaged."""
    settings = settings_for(catalog)
    damages = dovetail.check(settings.catalog, settings)
    if as_json:
        print_json({"catalog": settings.catalog, "damaged": [each.to_dict() for each in damages]})
    else:
        for damage in damages:
            print_line(str(damage))
        told = (
            f"mend it: dovetail repair -C {settings.catalog}" if damages else "nothing is damaged"
        )
        print_line(f"{settings.catalog}: {told}")
    if damages:
        raise typer.Exit(1)


def repair(catalog: options.Catalog = None, as_json: options.Json = False) -> None:
    """Make what is damaged of a catalog again, and nothing else."""
    settings = settings_for(catalog)
    result = dovetail.repair(settings.catalog, settings)
    if as_json:
        print_json({"catalog": settings.catalog, **result.to_dict()})
    else:
        for damage in result.damaged:
            left = damage in result.left
            print_line(f"{'Not mended' if left else 'Mended'}: {damage}")
        if not result.damaged:
            print_line(f"{settings.catalog}: nothing is damaged")
    if result.left:
        raise typer.Exit(1)
