"""Which hosts the service may call: names and addresses that lead to the public internet, spelled as usual."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx

PORTS = frozenset({80, 443, 8080, 8443})
MAX_URL = 2048

_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
# What some resolvers read as a number, and so as an address: 2130706433, 0x7f.1, 127.1, 0177.0.0.1.
_NUMBERED = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)

# All unicast addresses that are given out. Outside lie loopback, link-local, site-local, unique local, multicast,
# the unspecified one, IPv4-mapped and -compatible ones, and NAT64.
_GIVEN_OUT = ip_network("2000::/3")
_NOT_PUBLIC = [
    ip_network(net)
    for net in (
        "2001::/23",  # Teredo, ORCHID, benchmarking
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
    )
]


class Refused(Exception):
    """An address that the service does not call; the message is for who named it."""


def read_url(text: str, *, any_port: bool = False) -> httpx.URL:
    """A URL that may be called if its host resolves to public addresses only. Raises Refused.

    With `any_port`, not only at the usual ports of HTTP.
    """
    if len(text) > MAX_URL:
        raise Refused(f"Must have at most {MAX_URL} characters.")
    try:
        url = httpx.URL(text)
        host, port = url.raw_host.decode("ascii"), url.port
    except (httpx.InvalidURL, ValueError):
        raise Refused("Must be an http(s) URL.") from None
    if url.scheme not in ("http", "https") or not host:
        raise Refused("Must be an http(s) URL.")
    if url.userinfo:
        raise Refused("Must not hold a user name or password.")
    if literal(host) is None and (_NUMBERED.fullmatch(host) or not _NAME.fullmatch(host)):
        raise Refused("The host must be a name without a final dot, or an address in its usual spelling.")
    if port is not None and not 1 <= port <= 65535:
        raise Refused("Must not have this port.")
    if not any_port and port is not None and port not in PORTS:
        raise Refused(f"Must have one of the ports {', '.join(map(str, sorted(PORTS)))}.")
    return url


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, None for a name or for an odd spelling of an address."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return None
    return address


def public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one host on the public internet, and no form in which another one hides."""
    if isinstance(address, IPv6Address) and (address.scope_id is not None or address not in _GIVEN_OUT):
        return False
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in net for net in _NOT_PUBLIC if net.version == address.version)
    )
