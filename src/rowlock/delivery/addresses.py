"""Addresses: which machines a request may go to. Private ones only if somebody has allowed them by name."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from rowlock.errors import HostNotAllowed, Invalid
from rowlock.http_url import HttpUrl

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# By the registries of special addresses, and not by the standard library, whose answer changes between versions.
_SPECIAL = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by a provider's customers
            "127.0.0.0/8",  # this machine
            "169.254.0.0/16",  # this link; where clouds keep their secrets
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
            "2002::/16",  # 6to4: an IPv4 address in disguise
            "2620:4f:8000::/48",  # name servers' sinks
            "3fff::/20",  # documentation
        ),
    )
)
_GLOBAL = IPv6Network("2000::/3")
"""The only part of IPv6 that is given to machines of the public net; all the rest is private or reserved."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""How machines that know only IPv6 are told of those that know only IPv4."""
_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")


def is_public(address: Address) -> bool:
    """Whether it belongs to a machine of the public net, in whatever form it is written."""
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
    """Hosts that may be spoken to although they are private: names, `*.name`, addresses and networks."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[Network] = []
        for entry in entries:
            self._add(entry.strip().lower())

    def _add(self, entry: str) -> None:
        try:
            self._networks.append(ip_network(entry.strip("[]"), strict=False))
            return
        except ValueError:
            pass
        if not _NAME.fullmatch(entry.removesuffix(".")):
            what = f"{entry!r} is no host that could be allowed"
            raise Invalid(what, "give a name, *.name, an address or a network, without scheme and port")
        self._names.add(entry.removesuffix("."))

    def check(self, target: HttpUrl, addresses: Iterable[str]) -> None:
        """Refuse a target if any address of its host is private, unless its name or that address was allowed."""
        if self._names and self._knows(target.host.removesuffix(".")):
            return
        for address in map(_read, addresses):
            if not is_public(address) and not self._covers(address):
                what = f"{target.shown} leads to a private address ({address})"
                hint = f"if that is meant, allow it by name: --allow-host {target.host}, or ROWLOCK_ALLOW_HOSTS"
                raise HostNotAllowed(what, hint, host=target.host)

    def _knows(self, host: str) -> bool:
        _, *above = host.split(".")
        parents = {f"*.{'.'.join(above[at:])}" for at in range(len(above))}
        return host in self._names or not parents.isdisjoint(self._names)

    def _covers(self, address: Address) -> bool:
        return any(address in network or _unwrapped(address) in network for network in self._networks)


def _read(address: str) -> Address:
    # The zone of a link's address says by which door, not where.
    return ip_address(address.partition("%")[0])
