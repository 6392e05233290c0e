"""The kinds of object stores, and their logins: from the environment, for one bucket alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

from dovetail.errors import SourceError
from dovetail.ports import SourceSpec
from dovetail.sources import duck


@dataclass(frozen=True, slots=True)
class Store:
    """A kind of store: DuckDB's extension and word for it, and the variables of a login.

    `endpoint` are variables that name a store of another provider with the same interface.
    `schemes` are other words for the same store, by which the writers of tables name files in it.
    Of `listed` stores DuckDB keeps the size and time of an object as the listing says them; of
    `kernel` stores its reader of Delta Lake finds one that is not the vendor's own.
    """

    extension: str
    secret: str
    login: Mapping[str, str]
    endpoint: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    listed: bool = True
    kernel: bool = True

    @property
    def variables(self) -> str:
        """The variables of a login, as advice names them."""
        return " and ".join(list(self.login.values())[:2])


STORES = {
    "s3": Store(
        "httpfs",
        "s3",
        {
            "KEY_ID": "AWS_ACCESS_KEY_ID",
            "SECRET": "AWS_SECRET_ACCESS_KEY",
            "SESSION_TOKEN": "AWS_SESSION_TOKEN",
        },
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        ("s3", "s3a", "s3n"),
    ),
    "gs": Store(
        "httpfs",
        "gcs",
        {"KEY_ID": "GCS_ACCESS_KEY_ID", "SECRET": "GCS_SECRET_ACCESS_KEY"},
        ("GCS_ENDPOINT_URL",),
        ("gs", "gcs"),
    ),
    "az": Store(
        "azure",
        "azure",
        {"CONNECTION_STRING": "AZURE_STORAGE_CONNECTION_STRING"},
        schemes=("az", "azure"),
        listed=False,
        kernel=False,
    ),
}
_secrets = count(1)


def bucket_of(location: str) -> str:
    """The bucket or container that a URL is in."""
    return urlsplit(location).netloc


def make_secret(spec: SourceSpec, store: Store) -> str:
    """Tell DuckDB the login of the environment, for this bucket alone."""
    parts = [
        f"{key} {duck.literal(os.environ[name])}"
        for key, name in store.login.items()
        if os.environ.get(name)
    ]
    if store.secret == "azure":  # noqa: S105 - the word for a kind of store
        parts = parts or _azure_account()
    else:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        parts.append(f"REGION {duck.literal(region)}")
    endpoint = next((os.environ[name] for name in store.endpoint if os.environ.get(name)), "")
    if endpoint:
        address = urlsplit(endpoint)
        secure = str(address.scheme != "http").lower()
        parts += [
            f"ENDPOINT {duck.literal(address.netloc)}",
            f"USE_SSL {secure}",
            "URL_STYLE 'path'",
        ]
    name = f"dovetail_bucket_{next(_secrets)}"
    # With the slash: `s3://lake` alone would be the beginning of `s3://lake-of-others` too.
    scopes = [duck.literal(f"{each}://{bucket_of(spec.location)}/") for each in store.schemes]
    scope = f"[{', '.join(scopes)}]"
    with duck.explained():
        duck.run(f"CREATE SECRET {name} (TYPE {store.secret}, {', '.join(parts)}, SCOPE {scope})")
    return name


def _azure_account() -> list[str]:
    """An account by name, logged in to as Azure's own programs are, or open to everybody."""
    account = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise SourceError(
            "names a container without its account; set AZURE_STORAGE_CONNECTION_STRING, or "
            "AZURE_STORAGE_ACCOUNT"
        )
    return ["PROVIDER credential_chain", f"ACCOUNT_NAME {duck.literal(account)}"]
