"""A client of a real server on a fresh database, in the place of an engine."""

from collections.abc import Iterator

import pytest
from tests.conftest import Clock
from tests.http.serving import Serving, serving

from rowlock import Client, Engine

# Tests of the verbs that cannot hold over HTTP, and why.
ONLY_WHERE_THE_DATABASE_IS = {
    "test_a_dropped_list_is_forgotten_with_all_that_was_its": "looks into the tables",
    "test_a_list_that_keeps_results_keeps_a_row_of_each_done_item": "looks into the tables",
    "test_a_retry_makes_failed_items_ready_with_a_clean_count": "writes into the tables",
    "test_a_sealed_list_takes_no_items": "writes into the tables",
    "test_a_session_in_hand_tells_that_it_is_lost": "a session over HTTP lives for a second at least",
    "test_a_snapshot_has_all_keys_in_byte_order": "a snapshot is one read of the database",
    "test_a_snapshot_stays_while_the_list_changes": "a snapshot is one read of the database",
    "test_an_empty_list_has_no_ranges_and_no_keys": "a snapshot is one read of the database",
    "test_an_item_at_a_gate_that_was_passed_is_refused": "writes into the tables",
    "test_an_item_without_a_gate_stands_at_that_of_its_list": "writes into the tables",
    "test_an_unknown_list_has_no_ranges_and_no_snapshot": "a snapshot is one read of the database",
    "test_a_clock_that_was_set_back_a_little_brings_no_tick_again": "ticks by hand",
    "test_a_number_and_its_row_commit_together": "has a transaction of its own",
    "test_a_number_of_a_transaction_that_fails_is_given_again": "has a transaction of its own",
    "test_a_paused_schedule_does_not_tick_and_misses_nothing": "ticks by hand",
    "test_a_removed_schedule_is_gone_and_its_items_stay": "ticks by hand",
    "test_a_transaction_of_the_callers_own_is_joined": "has a transaction of its own",
    "test_an_interval_is_aligned_to_its_start": "ticks by hand",
    "test_another_key_leaves_the_rhythm_alone": "ticks by hand",
    "test_another_rhythm_begins_now": "ticks by hand",
    "test_attempts_never_pass_what_can_be_stored": "writes into the tables",
    "test_nothing_ticks_before_its_start": "ticks by hand",
    "test_numbers_follow_the_order_in_which_callers_came": "groups by hand",
    "test_of_those_who_come_together_as_many_as_can_have_the_last_numbers": "groups by hand",
    "test_one_bad_call_among_many_good_ones_is_alone_with_it": "groups by hand",
    "test_ranges_are_those_of_a_snapshot": "a snapshot is one read of the database",
    "test_who_changes_a_schedule_is_written_down": "acts as somebody; the server records who shows a token",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        why = ONLY_WHERE_THE_DATABASE_IS.get(getattr(item, "originalname", ""))
        if why is not None and item.path.parent.name == "client":
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(params=["sqlite"])
def dialect(request: pytest.FixtureRequest) -> str:
    """A client does not know which database its server is on; the service is tried on all of them."""
    return str(request.param)


@pytest.fixture
def served(url: str) -> Iterator[Serving]:
    """A server at work on a fresh database."""
    with Engine(url) as engine, serving(engine) as found:
        yield found


def client_of(served: Serving) -> Client:
    """A client of a server."""
    return Client(f"http://127.0.0.1:{served.client.port}")


@pytest.fixture
def client(served: Serving) -> Iterator[Client]:
    """A client of that server."""
    with client_of(served) as client:
        yield client


@pytest.fixture
def engine(client: Client) -> Client:
    """The same where a test of the verbs wants an engine: what holds there holds here."""
    return client


@pytest.fixture
def timed(url: str, clock: Clock) -> Iterator[Client]:
    """A client of a server whose time is the movable clock's."""
    with Engine(url, clock=clock) as engine, serving(engine) as served, client_of(served) as client:
        yield client
