"""`rowlock topic`, `subscribe`, `unsubscribe`, `publish`, `notifications`: standing queries for scripts."""

import pytest
from tests.faces.shell import QuickShell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> QuickShell:
    """One folder for the whole file: each test has a topic of its own."""
    return QuickShell(tmp_path_factory.mktemp("topics"))


def test_a_published_record_notifies_a_subscriber(shell: QuickShell, capfd: pytest.CaptureFixture[str]) -> None:
    shell("topic", "define", "comics", "series=text", "issue=integer", "mint=boolean")
    asked = ("series=Saga", "series=Maus", "issue>=3")
    assert [shell("subscribe", "comics", "ann@example.org", *asked).out for _ in range(2)] == ["1\n", "1\n"]
    assert shell("subscribe", "comics", "bob@example.org", "series^=Sa", "--predicates", '{"mint": true}').out == "2\n"
    assert shell("topic", "subscriptions", "comics").lines == [
        '1\tann@example.org\t{"issue":{"from":3},"series":{"in":["Maus","Saga"]}}',
        '2\tbob@example.org\t{"mint":true,"series":{"prefix":"Sa"}}',
    ]
    assert shell("publish", "comics", "series=Saga", "issue=3", "mint=no", "--record", '{"cover": "ü"}').out == "1\n"
    told = shell("topic", "deliver", "comics", "--to", "maildir:box", "--sender", "shop@example.org", "--once")
    assert told.status == 0
    assert "1 record matched · delivered 1 · failed 0 · retried 0" in capfd.readouterr().err
    [mail] = (shell.folder / "box" / "new").iterdir()
    assert "To: ann@example.org" in mail.read_text()
    [line] = shell("notifications", "comics", "--delivered").lines
    number, who, record, at, why, what = line.split("\t")
    assert (number, who, record, at != "") == ("1", "ann@example.org", "1", True)
    assert (why, what) == (
        '{"issue":{"from":3},"series":{"in":["Maus","Saga"]}}',
        '{"cover":"ü","series":"Saga","issue":3,"mint":false}',
    )
    assert shell("unsubscribe", "comics", "ann@example.org", "series=Saga").lines == ["unsubscribed\t0"]
    assert shell("unsubscribe", "comics", "ann@example.org").lines == ["unsubscribed\t1"]
    assert shell("unsubscribe", "comics", "--id", "2", "--json").document == {"unsubscribed": 1}


def test_many_records_are_read_by_lines_and_a_malformed_one_is_named(shell: QuickShell) -> None:
    shell("topic", "define", "many", "issue=integer")
    wishes = "".join(f'{{"subscriber": "{number}"}}\n' for number in range(3))
    assert shell("subscribe", "many", "--ndjson", given=wishes).lines != []
    lines = '{"issue": 1}\n\n{"issue": "x"}\n{"issue": 3}\n'
    refused = shell("publish", "many", "--ndjson", given=lines)
    assert (refused.status, refused.out, "line 3: 'issue' must be integer" in refused.error) == (2, "", True)
    partly = shell("publish", "many", "--ndjson", "--partial", given=lines)
    assert (partly.status, len(partly.lines), "line 3" in partly.error) == (1, 2, True)
    assert "subscriptions\t3" in shell("topic", "show", "many").lines
    assert "many" in shell("topic", "ls").out


def test_a_failed_delivery_is_reported_and_retried(shell: QuickShell, capfd: pytest.CaptureFixture[str]) -> None:
    shell("topic", "define", "failing")
    shell("subscribe", "failing", "no address")
    shell("publish", "failing")
    mail = ("topic", "deliver", "failing", "--to", "maildir:none", "--sender", "shop@example.org", "--once")
    assert shell(*mail).status == 1
    said = capfd.readouterr().err
    assert "1 record matched · delivered 0 · failed 1 · retried 0" in said
    assert "1 delivery failed" in said
    assert shell("topic", "retry", "failing").lines == ["retried\t1"]
    assert shell("notifications", "failing", "--undelivered", "--json").document["notifications"] != []  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("subscribe", "none", "ann"), 3, "there is no topic 'none'"),
        (("topic", "define", "wrong", "issue"), 2, "a field must be FIELD=KIND, got 'issue'"),
        (("topic", "define", "wrong", "issue=int"), 2, "did you mean 'integer'?"),
        (("topic", "deliver", "comics", "--to", "smtp://localhost"), 2, "--sender"),
        (("topic", "deliver", "comics", "--to", "http://localhost:1/"), 4, "private address"),
        (("subscribe", "comics"), 2, "needs either SUBSCRIBER or --ndjson"),
        (("publish", "comics", "serie=Saga"), 2, "did you mean 'series'?"),
        (("publish", "comics", "cover=blue"), 2, "by --record"),
        (("publish", "comics"), 2, "publish needs at least one FIELD=VALUE"),
        (("subscribe", "comics", "ann", "issue"), 2, "got 'issue'"),
        (("subscribe", "comics", "ann", "--predicates", "{"), 2, "must be JSON"),
    ],
)
def test_what_cannot_be_is_refused(shell: QuickShell, arguments: tuple[str, ...], status: int, words: str) -> None:
    shell("topic", "define", "comics", "series=text", "issue=integer", "mint=boolean")
    ran = shell(*arguments)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.error
