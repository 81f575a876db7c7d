"""Which machines a request may go to."""

from ipaddress import ip_address

import pytest

from rowlock import Invalid
from rowlock.delivery.addresses import AllowedHosts, is_public
from rowlock.errors import HostNotAllowed
from rowlock.http_url import parse
from rowlock.names import split_names

PRIVATE = [
    "0.0.0.0",
    "10.0.0.5",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.5",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_recognised_in_every_form(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_recognised(address: str) -> None:
    assert is_public(ip_address(address))


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(HostNotAllowed) as refused:
        AllowedHosts().check(parse("https://example.org/hook?token=secret"), ["8.8.8.8", "10.0.0.5"])
    assert str(refused.value) == (
        "https://example.org/hook?… resolves to a private address (10.0.0.5); "
        "to allow it: --allow-host example.org, or ROWLOCK_ALLOW_HOSTS"
    )


@pytest.mark.parametrize(
    ("entry", "url", "address"),
    [
        ("localhost", "http://localhost/", "127.0.0.1"),
        ("LOCALHOST", "http://LocalHost./", "::1"),
        ("internal.example.", "http://internal.example/", "10.0.0.5"),
        ("*.internal.example", "http://a.b.internal.example/", "10.0.0.5"),
        ("10.0.0.5", "http://10.0.0.5/", "10.0.0.5"),
        ("10.0.0.5", "http://named.example/", "10.0.0.5"),
        ("10.0.0.0/8", "http://10.1.2.3/", "10.1.2.3"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"),
        ("[::1]", "http://[::1]/", "::1"),
        ("fe80::/10", "http://link.example/", "fe80::1%eth0"),
    ],
)
def test_an_allowed_host_may_have_a_private_address(entry: str, url: str, address: str) -> None:
    AllowedHosts([entry]).check(parse(url), [address])


@pytest.mark.parametrize(
    ("entry", "url", "address"),
    [
        ("localhost", "http://127.0.0.1/", "127.0.0.1"),
        ("internal.example", "http://x.internal.example/", "10.0.0.5"),
        ("*.internal.example", "http://internal.example/", "10.0.0.5"),
        ("*.internal.example", "http://eviltinternal.example/", "10.0.0.5"),
        ("10.0.0.5", "http://10.0.0.6/", "10.0.0.6"),
        ("10.0.0.5", "http://10.0.0.5/", "10.0.0.6"),
    ],
)
def test_an_allowed_host_allows_no_other_host(entry: str, url: str, address: str) -> None:
    with pytest.raises(HostNotAllowed):
        AllowedHosts([entry]).check(parse(url), [address])


@pytest.mark.parametrize("entry", ["", "http://localhost", "localhost:80", "a b", "*", "a*b", "10.0.0.5:80", "-"])
def test_an_invalid_host_to_allow_is_refused(entry: str) -> None:
    with pytest.raises(Invalid):
        AllowedHosts([entry])


def test_hosts_in_a_variable_are_separated_by_commas_or_blanks() -> None:
    assert split_names(" localhost, 10.0.0.5\n*.internal.example ,") == ["localhost", "10.0.0.5", "*.internal.example"]
