"""Topics: what records of a kind look like. Verbs are functions of a transaction."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from rowlock.db import Transaction
from rowlock.durations import milliseconds
from rowlock.errors import FieldTaken, InvalidName, NoSuchTopic
from rowlock.model import TopicInfo
from rowlock.names import check_limit, check_name, check_start, closest
from rowlock.topics import predicates
from rowlock.topics.subscription_index import ColumnLayout

NAME_BYTES = 150


class TopicRow(msgspec.Struct, frozen=True):
    """A topic's row."""

    id: int
    name: str
    fields: dict[str, str]
    keep_for: str
    version: int

    @property
    def layout(self) -> ColumnLayout:
        """Where its fields have their columns."""
        return _layout(self.id, tuple(self.fields.items()))

    @property
    def info(self) -> TopicInfo:
        """The topic as users see it."""
        return TopicInfo(self.name, self.fields, self.keep_for)


@lru_cache(maxsize=256)
def _layout(topic: int, fields: tuple[tuple[str, str], ...]) -> ColumnLayout:
    return ColumnLayout(topic, dict(fields))


def _row(columns: tuple[Any, ...]) -> TopicRow:
    topic, name, fields, keep_for, version = columns
    return TopicRow(topic, name, msgspec.json.decode(fields), keep_for, version)


def check_topic(name: str) -> None:
    """Refuse a topic's name that cannot be one: it is part of the names of its lists, and of addresses."""
    check_name(name, "topic")
    if "/" in name or len(name.encode()) > NAME_BYTES:
        hint = f"a topic's name is at most {NAME_BYTES} bytes long and without '/'"
        raise InvalidName(f"the topic name {name!r} cannot be", hint, name=name)


def define(tx: Transaction, name: str, fields: Mapping[str, str], *, keep_for: str | None = None) -> TopicInfo:
    """Make the topic, or add fields to it; fields that are there stay, and one of another kind is refused."""
    check_topic(name)
    given = predicates.check_fields(fields)
    if keep_for is not None:
        milliseconds(keep_for)
    # More than once, if others make and drop a topic of that name in between.
    while (columns := tx.row("topics/lock", name=name)) is None:
        tx.run("topics/create", name=name)
    row = _row(columns)
    for field, kind in given.items():
        if row.fields.get(field, kind) != kind:
            what = f"the field {field!r} of the topic {name!r} is {row.fields[field]}, not {kind}"
            raise FieldTaken(what, "choose another name for it", field=field)
    whole = predicates.check_fields(row.fields | given)
    keep = row.keep_for if keep_for is None else keep_for
    if (whole, keep) != (row.fields, row.keep_for):
        tx.run("topics/change", topic=row.id, fields=msgspec.json.encode(whole).decode(), keep_for=keep)
    return TopicInfo(name, whole, keep)


def find(tx: Transaction, name: str) -> TopicRow:
    """The topic of that name; NoSuchTopic if there is none."""
    columns = tx.row("topics/find", name=name)
    if columns is None:
        raise missing(tx, name)
    return _row(columns)


def missing(tx: Transaction, name: str) -> NoSuchTopic:
    """The error for a name that no topic has, with the one that was probably meant."""
    near = closest(name, [row[0] for row in tx.rows("topics/names")])
    hint = f"did you mean {near!r}?" if near else "define its fields first"
    return NoSuchTopic(f"there is no topic {name!r}", hint, topic=name)


def show(tx: Transaction, name: str) -> TopicInfo:
    """The topic as users see it."""
    return find(tx, name).info


def page(tx: Transaction, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
    """Topics in the order of their names, strictly after one."""
    check_limit(limit, "topics")
    check_start(after)
    return [_row(columns).info for columns in tx.rows("topics/page", after=after, limit=limit)]
