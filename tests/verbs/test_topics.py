"""Topics: typed fields under a name; fields are added, never changed."""

import contextlib

import pytest
from tests.conftest import DATABASES

from rowlock import Engine, TopicInfo
from rowlock.errors import FieldTaken, InvalidDuration, InvalidField, InvalidName, NoSuchTopic

pytestmark = pytest.mark.parametrize("dialect", DATABASES)


class Broken(Exception):
    """Something that ends a transaction."""


def test_a_topic_is_made_by_its_definition(engine: Engine) -> None:
    defined = engine.topic("comics").define(series="text", issue="integer")
    assert defined == TopicInfo("comics", {"series": "text", "issue": "integer"}, "30d")
    assert engine.topic("comics").info() == defined


def test_fields_are_added_and_those_that_are_there_stay(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.define(series="text")
    comics.define({"issue": "integer"}, keep_for="2d")
    assert comics.define(series="text").fields == {"series": "text", "issue": "integer"}
    assert comics.info().keep_for == "2d"


def test_a_field_keeps_its_kind(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.define(issue="integer")
    with pytest.raises(FieldTaken, match="is integer, got text"):
        comics.define(year="integer", issue="text")
    assert comics.info().fields == {"issue": "integer"}


def test_fields_that_cannot_be_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidField, match="did you mean 'text'"):
        engine.topic("comics").define(series="txt")
    with pytest.raises(InvalidDuration):
        engine.topic("comics").define(series="text", keep_for="soon")
    assert engine.topics() == []


def test_a_topic_cannot_outgrow_its_columns_bit_by_bit(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.define({f"a{number}": "text" for number in range(40)})
    with pytest.raises(InvalidField, match="at most 64 fields, got 80"):
        comics.define({f"b{number}": "text" for number in range(40)})


@pytest.mark.parametrize("name", ["", "a/b", "a*", " a", "x" * 151, "a\n"])
def test_a_name_that_cannot_be_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidName):
        engine.topic(name)


def test_an_unknown_topic_is_told_with_the_nearest(engine: Engine) -> None:
    engine.topic("comics").define(series="text")
    with pytest.raises(NoSuchTopic, match="did you mean 'comics'"):
        engine.topic("comic").info()
    with pytest.raises(NoSuchTopic):
        engine.topic("comic").subscribe("ann")


def test_topics_come_by_name(engine: Engine) -> None:
    for name in ("comics", "books", "films"):
        engine.topic(name).define(title="text")
    assert [info.name for info in engine.topics(after="books", limit=1)] == ["comics"]


def test_a_definition_commits_with_its_transaction(engine: Engine) -> None:
    with contextlib.suppress(Broken), engine.transaction() as tx:
        tx.topic("comics").define(series="text")
        raise Broken
    assert engine.topics() == []
