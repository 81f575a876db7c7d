"""Open pages share what they read again, and stay within their share of the time."""

import asyncio

import pytest
from tests.http.serving import Serving

from rowlock.errors import Unavailable
from rowlock.http.pages import MAX_SECONDS, SHARED_SECONDS, SharedPages
from rowlock.http.responses import Response


def test_callers_of_one_page_wait_for_one_copy_and_others_have_their_own() -> None:
    made: list[str] = []

    async def ask() -> list[Response]:
        pages = SharedPages()

        async def make(name: str) -> Response:
            made.append(name)
            await asyncio.sleep(0)
            return Response(name)

        return await asyncio.gather(*(pages.get(name, lambda name=name: make(name)) for name in "aab"))

    assert ([each.value for each in asyncio.run(ask())], made) == (["a", "a", "b"], ["a", "b"])


def test_a_copy_that_failed_is_made_again() -> None:
    async def ask() -> Response:
        pages = SharedPages()

        async def fail() -> Response:
            raise Unavailable("away", "wait")

        async def make() -> Response:
            return Response("back")

        with pytest.raises(Unavailable):
            await pages.get("a", fail)
        return await pages.get("a", make)

    assert asyncio.run(ask()).value == "back"


def test_pages_that_take_long_are_refreshed_more_rarely() -> None:
    async def intervals() -> list[float]:
        pages = SharedPages()

        async def make() -> Response:
            return Response()

        found = [pages.interval_seconds]
        for seconds in (0.001, 0.05, 60.0):
            await pages.get(seconds, make)
            pages._pages[seconds].seconds = seconds
            found.append(pages.interval_seconds)
        return found

    first, cheap, dear, dearest = asyncio.run(intervals())
    assert (first, cheap, round(dear, 2), dearest) == (SHARED_SECONDS, SHARED_SECONDS, 2.55, MAX_SECONDS)


def test_tabs_with_the_same_page_get_the_same_copy_and_a_new_page_is_never_a_copy(small: Serving) -> None:
    small.service.engine["work"].add("a")
    first = small.client("GET", "/", hx_request="true")
    small.service.engine["play"].add("a")
    pages = small.service.shared_pages._pages
    for page in pages.values():
        page.made_at += 1_000  # as if no time passed
    again, fresh = small.client("GET", "/", hx_request="true"), small.client("GET", "/")
    assert (first.status, first.body == again.body, "play" in again.text, "play" in fresh.text) == (
        200,
        True,
        False,
        True,
    )
    assert again.headers["content-security-policy"] == fresh.headers["content-security-policy"]
