"""Topics: typed fields under a name; fields are added, never changed."""

import contextlib

import pytest
from tests.conftest import DATABASES

from rowlock import Engine, TopicInfo
from rowlock.errors import FieldTaken, InvalidDuration, InvalidField, InvalidName, NoSuchTopic

pytestmark = pytest.mark.parametrize("dialect", DATABASES)


class Broken(Exception):
    """Something that ends a transaction."""


def test_a_topic_is_created_by_its_definition(engine: Engine) -> None:
    defined = engine.topic("comics").define(series="text", issue="integer")
    assert defined == TopicInfo("comics", {"series": "text", "issue": "integer"}, "30d")
    assert engine.topic("comics").info() == defined


def test_fields_are_added_and_existing_ones_stay(engine: Engine) -> None:
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


def test_invalid_fields_of_a_topic_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidField, match="did you mean 'text'"):
        engine.topic("comics").define(series="txt")
    with pytest.raises(InvalidDuration):
        engine.topic("comics").define(series="text", keep_for="soon")
    assert engine.topics() == []


def test_a_topic_cannot_exceed_its_limit_of_fields_in_several_steps(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.define({f"a{number}": "text" for number in range(40)})
    with pytest.raises(InvalidField, match="at most 64 fields, got 80"):
        comics.define({f"b{number}": "text" for number in range(40)})


@pytest.mark.parametrize("name", ["", "a/b", "a*", " a", "x" * 151, "a\n"])
def test_a_name_that_cannot_be_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidName):
        engine.topic(name)


def test_an_unknown_topic_is_refused_with_a_suggestion(engine: Engine) -> None:
    engine.topic("comics").define(series="text")
    with pytest.raises(NoSuchTopic, match="did you mean 'comics'"):
        engine.topic("comic").info()
    with pytest.raises(NoSuchTopic):
        engine.topic("comic").subscribe("ann")


def test_topics_are_ordered_by_name(engine: Engine) -> None:
    for name in ("comics", "books", "films"):
        engine.topic(name).define(title="text")
    assert [info.name for info in engine.topics(after="books", limit=1)] == ["comics"]


def test_a_definition_commits_with_its_transaction(engine: Engine) -> None:
    with contextlib.suppress(Broken), engine.transaction() as tx:
        tx.topic("comics").define(series="text")
        raise Broken
    assert engine.topics() == []
