"""The packages of others: what `make sbom`, `ranges` and `audit` say of them.

python -m tests.packages sbom             what is installed here, as CycloneDX
python -m tests.packages lowest           the lowest versions that users may have, as constraints
python -m tests.packages audit < REPORT   known advisories, of what `pip-audit --format json` says
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
_LEAST = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?(?:>=|==)([\d.]+)")


def canonical(name: str) -> str:
    """A package's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def sbom() -> dict[str, Any]:
    """A bill of materials of this environment."""
    found = {canonical(each.name): each for each in metadata.distributions()}
    components = [
        {
            "type": "library",
            "name": name,
            "version": each.version,
            "purl": f"pkg:pypi/{name}@{each.version}",
            "licenses": [{"license": {"name": said}}] if (said := _license(each)) else [],
        }
        for name, each in sorted(found.items())
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def _license(of: metadata.Distribution) -> str:
    about = of.metadata.json
    said = about.get("license_expression") or about.get("license") or ""
    return str(said).partition("\n")[0][:80]


def lowest() -> Iterator[str]:
    """The lowest version of each package that dovetail may be installed with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in project["dependencies"]:
        if found := _LEAST.match(requirement):
            yield f"{found[1]}=={found[2]}.*" if ">=" in requirement else f"{found[1]}=={found[2]}"


def advisories(report: str) -> tuple[list[str], str]:
    """Known advisories, one a line, and how many packages were looked up.

    >>> seen = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
    >>> advisories(json.dumps({"dependencies": [seen, {"name": "b", "skip_reason": "unknown"}]}))
    (['a 1: X-1, mended in 2'], 'audit: 1 of 2 packages looked up')
    """
    packages = json.loads(report)["dependencies"] if report.strip() else []
    looked_up = [each for each in packages if "skip_reason" not in each]
    found = [
        f"{each['name']} {each['version']}: {one['id']}, mended in {', '.join(one['fix_versions'])}"
        for each in looked_up
        for one in each["vulns"]
    ]
    return found, f"audit: {len(looked_up)} of {len(packages)} packages looked up"


def main(what: str) -> None:
    if what == "audit":
        found, told = advisories(sys.stdin.read())
        sys.stdout.write(f"{told}\n")
        if found:
            sys.exit("\n".join(found))
    elif what == "sbom":
        sys.stdout.write(json.dumps(sbom(), indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lowest()))


if __name__ == "__main__":
    main(sys.argv[1])
