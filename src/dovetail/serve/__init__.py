"""Ways in for programs: the same catalog over the Model Context Protocol and REST."""

from __future__ import annotations

import ipaddress


def is_this_machine(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
