"""Search, overview and throughput through a client: as an engine answers."""

from rowlock import Client, Counts


def test_items_are_searched_and_changed_through_a_client(client: Client) -> None:
    work = client["work"]
    work.add(["a1", "a2", "b1"])
    work.increment("a1", error="timed out")
    found = work.search(prefix="a", attempts=1)
    assert [(item.key, item.error) for item in found.items] == [("a1", "timed out")]
    assert (found.next, work.count_matching(prefix="a").count) == (None, 2)
    assert work.save_matching(prefix="a", due="1h") == 2
    assert (work.retry_matching(prefix="a1", dry_run=True), work.retry_matching(prefix="a1")) == (1, 1)
    assert (work.done_matching(state="ready"), work.abandon_matching()) == (2, 1)
    assert work.counts() == Counts()


def test_overview_and_throughput_come_through_a_client(client: Client) -> None:
    client["work"].add("a")
    assert client.overview().lists[0].counts == Counts(ready=1)
    assert client.throughput(span="5m").steps[-1].added == client["work"].throughput(span="5m").steps[-1].added


def test_a_group_with_an_empty_kind_or_shape_is_sent_to_the_server(client: Client) -> None:
    client["work"].add("a")
    client["work"].increment("a", error="boom")
    assert client["work"].count_matching(kind="", shape="").count == 0


def test_an_item_and_a_topic_are_shown_with_all_about_them(client: Client) -> None:
    client["work"].add("a", data={"n": 1})
    client["work"].increment("a", error="boom")
    item = client["work"].item_overview("a")
    assert (item.item.data, item.item.failures[0].message, item.times.held_seconds) == ({"n": 1}, "boom", None)
    client.topic("comics").define(series="text")
    client.topic("comics").subscribe("fan", series="Tintin")
    topic = client.topic("comics").overview()
    assert (topic.count, topic.subscriptions[0].subscriber, topic.failed) == (1, "fan", [])
