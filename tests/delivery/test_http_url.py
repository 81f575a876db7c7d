"""Addresses of requests: read once, in one way."""

import pytest

from rowlock.errors import Invalid, InvalidUrl
from rowlock.http_url import HttpUrl, check_header, parse


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://Example.org", HttpUrl("https", "example.org", 443, "/")),
        ("HTTP://x:8080/a/b?c=d#e", HttpUrl("http", "x", 8080, "/a/b?c=d")),
        ("http://[::1]:80/", HttpUrl("http", "::1", 80, "/")),
        ("https://bücher.example/ü?ä=ö", HttpUrl("https", "xn--bcher-kva.example", 443, "/%C3%BC?%C3%A4=%C3%B6")),
        ("http://x/a%20b?c=%2F&d", HttpUrl("http", "x", 80, "/a%20b?c=%2F&d")),
        ("http://x?y", HttpUrl("http", "x", 80, "/?y")),
    ],
)
def test_a_url_is_parsed(url: str, target: HttpUrl) -> None:
    assert parse(url) == target


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "//x/",
        "ftp://x/",
        "file:///etc/passwd",
        "http:x",
        "http://",
        "http:///x",
        "http://user:hunter2@x/",
        "http://hunter2@x/",
        "http://a b/",
        "http://a\n/",
        "http://a\\@b/",
        "http://x:0/",
        "http://x:99999/hunter2",
        "http://x:port/",
        "http://..",
        "http://a..b/",
        "http://a%00b/",
        "http://[v1.a]/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://" + "a" * 3000,
        "http://" + "a" * 300 + "/",
        7,
        None,
    ],
)
def test_an_ambiguous_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidUrl) as refused:
        parse(url)
    assert "hunter2" not in str(refused.value)


def test_a_query_is_not_shown() -> None:
    assert parse("https://x.example:444/a?token=hunter2").shown == "https://x.example:444/a?…"


def test_a_relative_url_is_resolved() -> None:
    work = parse("https://x.example:444/api/work?a=b")
    assert work.beside("/health").shown == "https://x.example:444/health"
    assert work.beside("health").shown == "https://x.example:444/api/health"
    assert work.beside("http://y.example/").shown == "http://y.example/"


@pytest.mark.parametrize(
    ("name", "value"), [("", "x"), ("a b", "x"), ("a:", "x"), ("a", "x\r\nb: y"), ("a", "€"), ("ä", "x")]
)
def test_an_invalid_header_is_refused(name: str, value: str) -> None:
    with pytest.raises(Invalid):
        check_header(name, value)
