"""Addresses: resolve host names, and refuse private addresses that were not allowed by name (SSRF protection)."""

import re
import socket
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from rowlock.errors import HostNotAllowed, Invalid
from rowlock.forks import PerProcess
from rowlock.http_url import HttpUrl

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# From the IANA registries of special-purpose addresses: the answer of the standard library changes between versions.
_SPECIAL = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # this machine
            "169.254.0.0/16",  # link-local; cloud metadata services
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocols
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # name servers' sinks
            "192.52.193.0/24",  # multicast relays
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # name servers' sinks
            "198.18.0.0/15",  # measurements
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "2001::/23",  # protocols, Teredo
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: contains an IPv4 address
            "2620:4f:8000::/48",  # name servers' sinks
            "3fff::/20",  # documentation
        ),
    )
)
_GLOBAL = IPv6Network("2000::/3")
"""Global unicast, the only public part of IPv6."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""NAT64: contains an IPv4 address."""
MAX_ADDRESSES_PER_HOST = 16
_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")


def is_public(address: Address) -> bool:
    """Return whether an address is public, also if it is an IPv4 address inside IPv6."""
    address = _unwrapped(address)
    if isinstance(address, IPv6Address) and address not in _GLOBAL:
        return False
    return not any(address in network for network in _SPECIAL)


def _unwrapped(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


class AllowedHosts:
    """Private hosts that requests may go to: names, `*.name`, addresses and networks."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[Network] = []
        for entry in (each.strip().lower() for each in entries):
            try:
                self._networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                self._names.add(_checked_name(entry))

    def check(self, target: HttpUrl, addresses: Iterable[str]) -> None:
        """Raise HostNotAllowed if any address of the host is private, unless its name or that address is allowed."""
        if self._names and self._knows(target.host.removesuffix(".")):
            return
        for text in addresses:
            # The zone of a link-local address names an interface, not another address.
            address = ip_address(text.partition("%")[0])
            if not is_public(address) and not self._covers(address):
                what = f"{target.shown} resolves to a private address ({address})"
                hint = f"to allow it: --allow-host {target.host}, or ROWLOCK_ALLOW_HOSTS"
                raise HostNotAllowed(what, hint, host=target.host)

    def _knows(self, host: str) -> bool:
        _, *above = host.split(".")
        parents = {f"*.{'.'.join(above[at:])}" for at in range(len(above))}
        return host in self._names or not parents.isdisjoint(self._names)

    def _covers(self, address: Address) -> bool:
        return any(address in network or _unwrapped(address) in network for network in self._networks)


def _checked_name(entry: str) -> str:
    name = entry.removesuffix(".")
    if not _NAME.fullmatch(name):
        hint = "give a name, *.name, an address or a network, without scheme and port"
        raise Invalid(f"invalid host to allow: {entry!r}", hint)
    return name


class ResolvedAddress(NamedTuple):
    """A socket address of a host, as the system resolved it."""

    family: int
    socket_address: tuple[object, ...]

    @property
    def address(self) -> str:
        """The IP address alone."""
        return str(self.socket_address[0])


class _Lookups:
    """The look-ups under way in one process, by host and port."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_name: dict[tuple[str, int], Future[list[ResolvedAddress]]] = {}


class Resolver:
    """Resolves host names within a time limit; concurrent calls for one name share one look-up."""

    def __init__(self) -> None:
        self._lookups = PerProcess(_Lookups)

    def resolve(self, host: str, port: int, *, seconds: float) -> list[ResolvedAddress]:
        """Return the addresses of a host; TimeoutError if the system takes longer, gaierror if it has no address."""
        lookups = self._lookups.get()
        with lookups.lock:
            lookup = lookups.by_name.get((host, port))
            if lookup is None:
                lookup = Future()
                # A thread of its own, because the system sets no time limit. It is registered once it has started.
                threading.Thread(target=_look_up, args=(lookups, lookup, host, port), daemon=True).start()
                lookups.by_name[host, port] = lookup
        addresses = lookup.result(seconds)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "its host has no address")
        return addresses


def _look_up(lookups: _Lookups, lookup: Future[list[ResolvedAddress]], host: str, port: int) -> None:
    addresses: list[ResolvedAddress] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[:MAX_ADDRESSES_PER_HOST]
        addresses = [ResolvedAddress(family, address) for family, _, _, _, address in found]
    except (OSError, UnicodeError):
        pass  # the name is unknown or invalid
    finally:
        with lookups.lock:
            lookups.by_name.pop((host, port), None)
        lookup.set_result(addresses)
