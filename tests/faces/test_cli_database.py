"""`rowlock migrate`, `doctor`, `config` and `completion`: the database and the program itself."""

import subprocess
from typing import Any

import psycopg
import pytest
from tests.faces.shell import PROGRAM, Shell
from tests.servers import Server

import rowlock
from rowlock import Engine


def test_the_program_introduces_itself(quick: Shell) -> None:
    ran = quick()
    assert ran.status == 0
    assert ran.out.startswith(f"rowlock {rowlock.__version__} — durable work")


def test_the_version_is_printed(quick: Shell) -> None:
    assert quick("--version").out == f"rowlock {rowlock.__version__}\n"


def test_help_names_every_command_with_a_sentence(quick: Shell) -> None:
    help_text = quick("-h").out
    assert "abandon     Take items off their list undone" in help_text
    assert "migrate     Create the tables" in help_text


def test_a_server_is_migrated_once(shell: Shell, unmigrated_url: str) -> None:
    assert shell("-d", unmigrated_url, "migrate", "--plan").lines[0] == "0001\tlists_and_items"
    assert shell("-d", unmigrated_url, "migrate").lines[0] == "0001\tlists_and_items"
    assert shell("-d", unmigrated_url, "migrate").out == ""


def test_a_plan_does_not_make_a_file(quick: Shell) -> None:
    assert quick("migrate", "--plan").lines[0] == "0001\tlists_and_items"
    assert list(quick.folder.iterdir()) == []


def test_the_doctor_finds_a_new_file_fit(shell: Shell) -> None:
    shell("add", "fruit", "apple")
    ran = shell("doctor")
    assert ran.status == 0
    assert {"journal_mode\tfine\twal\t", "synchronous\tfine\tfull\t"} <= set(ran.lines)


def test_the_doctor_says_what_to_do_about_an_item_at_a_gate_that_has_passed(shell: Shell) -> None:
    shell("add", "fruit", "apple")
    with Engine(shell.folder / "rowlock.db") as engine, engine.transaction() as tx:
        tx.execute("update rowlock_lists set gate = 1")
    ran = shell("doctor", "--check", "--json")
    rows = [(each["what"], each["fix"]) for each in ran.document["findings"] if each["name"] == "rows"]
    assert ran.status == 1
    assert rows[0][0] == "the item 'apple' is at gate 0 of the list 'fruit', which is past it, at gate 1"
    assert "abandon it and add it again" in rows[0][1]
    assert shell("abandon", "fruit", "apple").status == shell("add", "fruit", "apple").status == 0
    assert shell("doctor", "--check").status == 0


def test_the_doctor_sees_a_server_that_puts_promises_at_risk(shell: Shell, postgres_url: str) -> None:
    ran = shell("doctor", "--json", "-d", postgres_url)
    at_risk = {each["name"]: each["fix"] for each in ran.document["findings"] if each["state"] == "risk"}
    assert ran.status == 1
    assert {"fsync", "full_page_writes", "synchronous_commit"} <= set(at_risk)
    assert all(at_risk.values())


def test_the_doctor_sees_a_missing_schema(shell: Shell, unmigrated_url: str) -> None:
    findings = shell("doctor", "--json", "-d", unmigrated_url).document["findings"]
    schema = next(each for each in findings if each["name"] == "schema")
    assert (schema["state"], schema["fix"]) == ("risk", "run: rowlock migrate")


def permissions_of(shell: Shell, url: str) -> Any:
    findings = shell("doctor", "--json", "-d", url).document["findings"]
    return next(each for each in findings if each["name"] == "permissions")


def test_the_doctor_names_the_rights_that_a_user_lacks(shell: Shell, postgres: Server, postgres_url: str) -> None:
    with postgres.connect() as connection:
        connection.execute("create role guest login")
    ran = shell("doctor", "-d", postgres_url.replace("postgres@", "guest@"))
    permissions = next(line for line in ran.lines if line.startswith("permissions\t"))
    assert ran.status == 1
    assert permissions.split("\t")[3].startswith("grant select, insert, update, delete on rowlock_")


def test_the_grants_that_the_doctor_prints_are_all_that_a_user_needs(shell: Shell, postgres_url: str) -> None:
    guest_url = postgres_url.replace("postgres@", "worker@")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create role worker login")
        connection.execute("grant select, insert, update, delete on all tables in schema public to worker")
        lacking = permissions_of(shell, guest_url)
        assert (lacking["state"], "sequences rowlock_" in lacking["what"]) == ("risk", True)
        connection.execute(lacking["fix"])
    assert permissions_of(shell, guest_url)["state"] == "fine"
    assert shell("add", "fruit", "apple", "-d", guest_url).status == 0


def test_the_doctor_reports_an_unreachable_database(quick: Shell) -> None:
    ran = quick("doctor", "-d", "postgresql://ann:hush@127.0.0.1:1/x")
    assert ran.status == 5
    assert ran.out.startswith(
        "connection\tunreachable\tpostgresql://ann:***@127.0.0.1:1/x cannot be reached: nothing listens there\t"
    )


def found(shell: Shell, url: str, **environment: str) -> dict[str, tuple[str, str]]:
    findings = shell("doctor", "--json", "-d", url, **environment).document["findings"]
    return {each["name"]: (each["state"], each["fix"]) for each in findings}


def test_the_doctor_recommends_what_a_pooler_needs(quick: Shell, pooled_url: str) -> None:
    findings = found(quick, pooled_url)
    assert findings["pooler"][0] == "information"
    assert "add pooler=transaction to the address" in findings["pooler"][1]
    assert findings["listening"] == ("information", "set listen_url to the direct address of the server")


def test_the_doctor_is_content_with_a_pooler_that_the_address_names(quick: Shell, pooled_url: str) -> None:
    assert found(quick, f"{pooled_url}&pooler=transaction")["pooler"] == ("fine", "")


def test_the_doctor_mentions_no_pooler_where_there_is_none(quick: Shell, postgres_url: str) -> None:
    assert not {"pooler", "listening"} & found(quick, postgres_url).keys()


def test_the_doctor_tries_whether_notifications_arrive(
    quick: Shell, pooled_url: str, postgres_url: str, unmigrated_url: str
) -> None:
    configured = {"ROWLOCK_DATABASE_URL": pooled_url}
    states = []
    for listen_url in (postgres_url, unmigrated_url, "postgresql://127.0.0.1:1/x"):
        ran = quick("doctor", "--json", ROWLOCK_LISTEN_URL=listen_url, **configured)
        states += [each["state"] for each in ran.document["findings"] if each["name"] == "listening"]
    assert states == ["fine", "risk", "risk"]


def test_an_address_to_listen_at_is_not_that_of_a_database_named_nearer(quick: Shell) -> None:
    quick.write("rowlock.toml", 'database = "postgresql://pooler/x"\nlisten_url = "postgresql://ann:hush@server/x"')
    assert "listen_url\tpostgresql://ann:***@server/x\tfile rowlock.toml" in quick("config", "show").lines
    assert quick("-d", "mine.db", "add", "fruit", "apple").status == 0
    assert quick("add", "fruit", "apple", ROWLOCK_DATABASE_URL="mine.db").status == 0


def test_without_configuration_the_default_counts(quick: Shell) -> None:
    assert quick("config", "show").lines == ["database\trowlock.db\tdefault", "audit_keep\t90d\tdefault"]


def test_each_place_of_configuration_goes_before_the_next(quick: Shell) -> None:
    quick.write("home/.config/rowlock/config.toml", 'database = "home.db"')
    assert quick("config", "show").lines[0].startswith("database\thome.db\tfile ")
    quick.write("pyproject.toml", '[tool.rowlock]\ndatabase = "package.db"')
    assert quick("config", "show").lines[0] == "database\tpackage.db\tfile pyproject.toml"
    quick.write("rowlock.toml", 'database = "project.db"')
    assert quick("config", "show").lines[0] == "database\tproject.db\tfile rowlock.toml"
    secret = quick.write("secret", "postgresql://ann:hush@host/x\n")
    from_file = quick("config", "show", ROWLOCK_DATABASE_URL_FILE=str(secret))
    assert from_file.lines[0] == "database\tpostgresql://ann:***@host/x\tenvironment ROWLOCK_DATABASE_URL_FILE"
    from_variable = quick("config", "show", ROWLOCK_DATABASE_URL="variable.db")
    assert from_variable.lines[0] == "database\tvariable.db\tenvironment ROWLOCK_DATABASE_URL"
    from_flag = quick("-d", "flag.db", "config", "show", ROWLOCK_DATABASE_URL="variable.db")
    assert from_flag.lines[0] == "database\tflag.db\tflag --database"


def test_the_database_may_stand_before_or_after_the_command(quick: Shell) -> None:
    quick("-d", "a.db", "add", "fruit", "apple")
    assert quick("ls", "fruit", "-d", "a.db").lines == ["apple\t0\tready"]


def test_verbose_says_which_database(quick: Shell) -> None:
    assert quick("add", "fruit", "apple", "-v").error == "database rowlock.db (default)\n"


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ('databse = "x.db"', "did you mean 'database'?"),
        ("database = 7", "database in rowlock.toml must be text, got 7"),
        ("database = ", "rowlock.toml is not valid TOML"),
    ],
)
def test_a_wrong_configuration_file_is_refused(quick: Shell, content: str, wrong: str) -> None:
    quick.write("rowlock.toml", content)
    ran = quick("status")
    assert ran.status == 2
    assert wrong in ran.error


def test_a_missing_secret_file_is_reported(quick: Shell) -> None:
    ran = quick("status", ROWLOCK_DATABASE_URL_FILE="/nowhere/secret")
    assert (ran.status, "secret' of ROWLOCK_DATABASE_URL_FILE" in ran.error) == (2, True)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion_script(quick: Shell, name: str) -> None:
    assert "_ROWLOCK_COMPLETE" in quick("completion", name).out


def test_bash_takes_the_completion_script(shell: Shell) -> None:
    script = shell.write("completion.bash", shell("completion", "bash").out)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


def test_names_of_lists_are_completed(shell: Shell) -> None:
    shell("add", "fruit", "apple")
    shell("add", "flowers", "rose")
    words = {"_ROWLOCK_COMPLETE": "bash_complete", "COMP_WORDS": "rowlock ls f", "COMP_CWORD": "2"}
    assert shell(**words).lines == ["plain,flowers", "plain,fruit"]


def test_completion_is_silent_when_there_is_no_database(shell: Shell) -> None:
    ran = shell(_ROWLOCK_COMPLETE="bash_complete", COMP_WORDS="rowlock ls f", COMP_CWORD="2")
    assert (ran.out.strip(), ran.error) == ("", "")


def test_a_command_imports_neither_a_server_driver_nor_drawing(shell: Shell) -> None:
    shell("add", "fruit", "apple")
    timed = [PROGRAM[0], "-X", "importtime", *PROGRAM[1:], "ls", "fruit"]
    ran = subprocess.run(timed, cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    heavy = {"psycopg", "tomllib", "csv", "rowlock.cli.items", "rowlock.diagnostics", "traceback"}
    assert imported & heavy == set()
