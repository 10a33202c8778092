"""What schemathesis has to learn of this API."""

import json
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    return json.dumps(value, ensure_ascii=False).encode()


@schemathesis.hook
def filter_case(context, case):
    """A header that nobody knows is no fault."""
    return not any(name.lower().startswith("x-schemathesis-") for name in case.headers or {})


@schemathesis.hook
def map_headers(context, headers):
    """Moves a time into the thirty days ahead that a job may wait, and a path to where it is one: else nearly every
    submission is refused for these two."""
    if headers and is_time(headers.get("Dripfeed-Not-Before")):
        headers["Dripfeed-Not-Before"] = (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat()
    if headers and isinstance(headers.get("Dripfeed-Path"), str):
        headers["Dripfeed-Path"] = "/" + quote(headers["Dripfeed-Path"], safe="?=&")
    return headers


def is_time(value):
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value.upper()))
    except ValueError:
        return False
