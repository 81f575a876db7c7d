"""Lists: made by the first item, with settings, paused, resumed, renamed, dropped."""

from typing import Any

import pytest

from rowlock import Added, Counts, Engine, List, Progress, Settings
from rowlock.errors import (
    Invalid,
    InvalidDuration,
    InvalidName,
    InvalidSetting,
    ListSealed,
    NameTaken,
    NoSuchList,
    StaleVersion,
)

WRONG_NAMES = ["", " ", " a", "a ", "a*", "a\nb", "a\0b", "\ud800", "x" * 201, "é" * 101]
NAMES = ["B", "a", "a b", "a/b", "b", "x" * 200, "é", "日本", "🦊"]


def test_a_list_is_made_by_its_first_item(engine: Engine) -> None:
    engine["work"].add("a")
    info = engine["work"].info()
    assert (info.name, info.state, info.gate, info.sealed, info.version) == ("work", "open", 0, False, 1)


def test_looking_at_a_list_does_not_make_it(engine: Engine) -> None:
    for look in (List.page, List.info):
        with pytest.raises(NoSuchList):
            look(engine["work"])
    assert engine.lists() == []


def test_lists_come_in_the_byte_order_of_their_names(engine: Engine) -> None:
    for name in reversed(NAMES):
        engine[name].add("a")
    assert [info.name for info in engine.lists()] == NAMES


def test_lists_are_paged_by_name(engine: Engine) -> None:
    for name in NAMES:
        engine[name].add("a")
    assert [info.name for info in engine.lists(after="a", limit=2)] == ["a b", "a/b"]


@pytest.mark.parametrize("limit", [-1, 100_001])
def test_a_page_of_lists_that_cannot_be_had_is_refused(engine: Engine, limit: int) -> None:
    with pytest.raises(Invalid, match=str(limit)):
        engine.lists(limit=limit)


@pytest.mark.parametrize("after", ["a\0b", "\ud800"])
def test_lists_after_what_no_name_can_be_are_refused(engine: Engine, after: str) -> None:
    with pytest.raises(Invalid):
        engine.lists(after=after)


def test_a_wrong_name_is_refused_before_anything_is_asked() -> None:
    with Engine("postgresql://nowhere.invalid/none") as engine:
        for name in WRONG_NAMES:
            with pytest.raises(InvalidName):
                engine[name]


def test_a_paused_list_says_so_and_takes_items(engine: Engine) -> None:
    engine["work"].add("a")
    assert (engine["work"].pause(), engine["work"].pause()) == (True, False)
    engine["work"].add("b")
    assert (engine["work"].info().state, engine["work"].counts().ready) == ("paused", 2)


def test_a_resumed_list_is_open_again(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].pause()
    assert (engine["work"].resume(), engine["work"].resume(), engine["work"].info().state) == (True, False, "open")


@pytest.mark.parametrize("verb", ["pause", "resume", "drop", "info", "counts", "progress", "settings"])
def test_a_list_that_is_not_there_is_told_by_every_verb(engine: Engine, verb: str) -> None:
    with pytest.raises(NoSuchList):
        getattr(engine["work"], verb)()


def test_settings_have_defaults(engine: Engine) -> None:
    engine["work"].add("a")
    assert engine["work"].settings() == Settings()


def test_a_setting_is_kept_and_the_others_stay(engine: Engine) -> None:
    engine["work"].settings(attempts=3)
    engine["work"].settings(keep_results=True)
    assert engine["work"].settings() == Settings(attempts=3, keep_results=True)


def test_a_setting_may_be_taken_back(engine: Engine) -> None:
    engine["work"].settings(attempts=3)
    assert engine["work"].settings(attempts=None) == Settings()


@pytest.mark.parametrize(
    ("name", "value"), [("attempts", -1), ("attempts", "3"), ("attempts", True), ("atempts", 3), ("keep_results", 1)]
)
def test_a_wrong_setting_is_refused_and_nothing_is_made(engine: Engine, name: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match=name):
        engine["work"].settings(**{name: value})
    assert engine.lists() == []


def test_a_wrong_length_of_time_is_no_setting(engine: Engine) -> None:
    with pytest.raises(InvalidDuration):
        engine["work"].settings(keep_for="soon")


def test_settings_changed_since_they_were_read_are_refused(engine: Engine) -> None:
    engine["work"].settings(attempts=3)
    version = engine["work"].info().version
    engine["work"].settings(attempts=4, version=version)
    with pytest.raises(StaleVersion) as refusal:
        engine["work"].settings(attempts=5, version=version)
    assert refusal.value.fields == {"asked": version, "version": version + 1}
    assert engine["work"].settings().attempts == 4


CHANGES: dict[str, dict[str, Any]] = {"pause": {}, "resume": {}, "rename": {"to": "play"}, "drop": {}}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("resume", "pause", [("work", "paused", 2)]),
        ("pause", "resume", [("work", "open", 3)]),
        ("pause", "rename", [("play", "paused", 3)]),
        ("pause", "drop", []),
    ],
)
def test_a_change_of_a_list_that_nobody_has_changed_since_lands(
    engine: Engine, before: str, change: str, after: list[tuple[str, str, int]]
) -> None:
    engine["work"].add("a")
    getattr(engine["work"], before)()
    getattr(engine["work"], change)(version=engine["work"].info().version, **CHANGES[change])
    assert [(info.name, info.state, info.version) for info in engine.lists()] == after


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_list_that_somebody_has_changed_since_is_refused(engine: Engine, change: str) -> None:
    engine["work"].add("a")
    engine["work"].pause()
    before = engine.lists()
    with pytest.raises(StaleVersion, match="the list 'work' is at version 2, not 1") as refusal:
        getattr(engine["work"], change)(version=1, **CHANGES[change])
    assert (refusal.value.fields, engine.lists()) == ({"asked": 1, "version": 2}, before)


def test_a_dropped_list_does_not_come_back_by_late_settings(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].drop()
    with pytest.raises(NoSuchList):
        engine["work"].settings(attempts=3, version=1)
    assert engine.lists() == []


def test_a_renamed_list_takes_everything_with_it(engine: Engine) -> None:
    work = engine["work"]
    work.add(["a", "b"])
    work.increment("a", error="no")
    work.done("b")
    before = work.info()
    work.rename("play")
    after = engine["play"].info()
    assert (work.name, after.counts, after.progress) == ("play", before.counts, before.progress)
    assert [each.message for each in engine["play"].failures("a")] == ["no"]


def test_the_old_name_of_a_renamed_list_is_free(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].rename("play")
    assert engine["work"].add("b") == Added(1, 0)


def test_a_rename_to_a_name_that_is_taken_is_refused(engine: Engine) -> None:
    engine["work"].add("a")
    engine["play"].add("b")
    with pytest.raises(NameTaken):
        engine["work"].rename("play")
    assert [info.name for info in engine.lists()] == ["play", "work"]


def test_a_rename_to_its_own_name_changes_nothing_of_it(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].rename("work")
    assert engine["work"].counts() == Counts(ready=1)


@pytest.mark.parametrize("name", ["", "a*"])
def test_a_rename_to_what_no_name_can_be_is_refused(engine: Engine, name: str) -> None:
    engine["work"].add("a")
    with pytest.raises(InvalidName):
        engine["work"].rename(name)


def test_a_rename_of_no_list_is_refused(engine: Engine) -> None:
    with pytest.raises(NoSuchList):
        engine["work"].rename("play")


def test_a_dropped_list_is_forgotten_with_all_that_was_its(engine: Engine) -> None:
    engine["work"].settings(keep_results=True)
    engine["work"].add(["a", "b", "c"])
    engine["work"].increment("a", error="no")
    engine["work"].done("b")
    assert (engine["work"].drop(), engine.lists()) == (2, [])
    assert [left(engine, table) for table in ("items", "tallies", "errors", "results", "claims")] == [0] * 5


def left(engine: Engine, table: str) -> int:
    with engine.transaction() as tx:
        return int(tx.execute(f"select count(*) from rowlock_{table}").fetchone()[0])


def test_a_drop_leaves_other_lists_alone(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    engine["play"].add("a")
    engine["work"].drop()
    assert (engine["play"].counts(), engine["play"].progress()) == (Counts(ready=1), Progress(added=1))


def test_a_list_made_again_after_a_drop_starts_anew(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].increment("a", error="no")
    engine["work"].drop()
    engine["work"].add("a")
    assert (engine["work"].show("a").attempts, engine["work"].failures("a")) == (0, [])
    assert engine["work"].progress() == Progress(added=1)


def test_a_sealed_list_takes_no_items(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.transaction() as tx:
        tx.execute("update rowlock_lists set sealed = true")
    with pytest.raises(ListSealed):
        engine["work"].add("b")
    assert [item.key for item in engine["work"]] == ["a"]
