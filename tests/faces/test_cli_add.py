"""`rowlock add`: what goes in, from where, and what is refused before anything is written."""

import pytest
from tests.faces.shell import QuickShell, Shell

CLEF = "\N{MUSICAL SYMBOL G CLEF}"


def test_keys_from_arguments_are_added_and_counted(any_quick: QuickShell) -> None:
    ran = any_quick("add", "fruit", "apple", "pear", "apple")
    assert (ran.status, ran.out, ran.error) == (0, "added\t2\nexisting\t1\n", "")


def test_keys_from_a_pipe_are_one_to_a_line(any_shell: Shell) -> None:
    assert any_shell("add", "fruit", given="apple\npear\n").out == "added\t2\nexisting\t0\n"
    assert any_shell("ls", "fruit").lines == ["apple\t0\tready", "pear\t0\tready"]


def test_a_dash_is_standard_input(shell: Shell) -> None:
    assert shell("add", "fruit", "-", given="apple\n").lines[0] == "added\t1"


def test_several_files_are_read_in_turn(quick: QuickShell) -> None:
    quick.write("one.txt", "a\nb\n")
    quick.write("two.txt", "c")
    assert quick("add", "fruit", "-f", "one.txt", "-f", "two.txt", "-f", "-", given="d\n").lines[0] == "added\t4"


def test_windows_line_ends_and_byte_order_marks_are_no_part_of_a_key(quick: Shell) -> None:
    quick.write("names.txt", b"\xef\xbb\xbfapple\r\npear\r\n")
    quick("add", "fruit", "-f", "names.txt")
    assert quick("ls", "fruit", "-k").out == "apple\npear\n"


def test_blank_lines_are_passed_over(quick: Shell) -> None:
    assert quick("add", "fruit", given="\napple\n   \n\npear\n\n").lines[0] == "added\t2"


def test_nothing_on_standard_input_adds_nothing(quick: QuickShell) -> None:
    ran = quick("add", "fruit")
    assert (ran.status, ran.out, ran.error) == (
        0,
        "added\t0\nexisting\t0\n",
        "no keys were given: nothing was added\n",
    )
    assert quick("status", "--json").status == 3


@pytest.mark.parametrize(
    "key", ["two words", "a/b\\c", 'it\'s "so"', CLEF, "日本語", "e\N{COMBINING ACUTE ACCENT}", "é" * 256]
)
def test_a_key_is_stored_unchanged(quick: Shell, key: str) -> None:
    quick("add", "fruit", given=f"{key}\n")
    assert quick("ls", "fruit", "--keys").out == f"{key}\n"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"a\0b", r"the key 'a\x00b' in line 3 contains a NUL character"),
        (b"x" * 513, "in line 3 is 513 bytes long"),
        (b"\xff\xfe", "line 3 is not UTF-8 text"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_added(any_quick: QuickShell, line: bytes, wrong: str) -> None:
    any_quick("add", "fruit", "seed")
    ran = any_quick("add", "fruit", given=b"good\n\n" + line + b"\nbetter\n")
    assert ran.status == 2
    assert wrong in ran.error
    assert any_quick("ls", "fruit", "-k").out == "seed\n"


def test_a_wrong_line_after_ten_thousand_good_ones_adds_nothing(shell: Shell) -> None:
    good = "".join(f"key-{number}\n" for number in range(25_000))
    ran = shell("add", "fruit", given=good + "a\0b\n")
    assert "in line 25001 contains a NUL" in ran.error
    assert shell("status").out == ""


def test_a_wrong_line_is_counted_in_its_own_file(quick: QuickShell) -> None:
    quick.write("one.txt", "a\nb\n")
    quick.write("two.txt", "c\nd\0\n")
    ran = quick("add", "fruit", "-f", "one.txt", "-f", "two.txt")
    assert r"the key 'd\x00' in line 2 of two.txt contains a NUL character" in ran.error


def test_an_empty_argument_is_refused(quick: QuickShell) -> None:
    ran = quick("add", "fruit", "apple", "")
    assert (ran.status, ran.out) == (2, "")
    assert "the key '' is empty" in ran.error


def test_an_argument_that_is_not_utf8_is_refused(shell: Shell) -> None:
    ran = shell("add", "fruit", b"\xff")
    assert ran.status == 2
    assert "not valid Unicode" in ran.error


def test_a_line_without_end_is_refused_before_it_fills_the_memory(shell: Shell) -> None:
    ran = shell("add", "fruit", given=b"x" * 3_000_000)
    assert ran.status == 2
    assert "line 1 must be at most 1048576 bytes" in ran.error


def test_a_file_that_is_not_there_is_refused(quick: Shell) -> None:
    ran = quick("add", "fruit", "-f", "nowhere.txt")
    assert (ran.status, ran.error) == (2, "rowlock: file 'nowhere.txt' cannot be read: no such file or directory\n")


def test_keys_may_end_with_nul(quick: QuickShell) -> None:
    quick("add", "fruit", "-0", given="apple\0pear\0")
    assert quick("ls", "fruit", "-0").out == "apple\0pear\0"


def test_a_line_break_in_a_key_that_ends_with_nul_is_refused(quick: Shell) -> None:
    ran = quick("add", "fruit", "-0", given="apple\n\0pear\0")
    assert ran.status == 2
    assert "contains a line break" in ran.error


def test_keys_are_read_from_a_csv_column_by_its_heading(quick: Shell) -> None:
    quick("add", "fruit", "--csv", "name", given='id,name\r\n1,apple\r\n2,"pear, green"\r\n')
    assert quick("ls", "fruit", "-k").lines == ["apple", "pear, green"]


def test_keys_are_read_from_a_csv_column_by_its_number(quick: Shell) -> None:
    quick("add", "fruit", "--csv", "2", given="1,apple\n2,pear\n")
    assert quick("ls", "fruit", "-k").lines == ["apple", "pear"]


def data_of(shell: Shell, name: str) -> dict[str, object]:
    items = shell("ls", name, "--json").document["items"]
    return {item["key"]: item["data"] for item in items}


def test_a_file_in_the_place_of_a_csv_column_is_suggested_as_the_file(quick: Shell) -> None:
    quick.write("c.csv", "name\napple\n")
    ran = quick("add", "fruit", "--csv", "c.csv", given="")
    assert (ran.status, "did you mean -f c.csv?" in ran.error) == (2, True)


def test_the_other_columns_of_csv_are_the_data_of_an_item(quick: Shell) -> None:
    quick("add", "fruit", "--csv", "name", given='id,name,\n1,apple,"a\nb"\n2,pear,\n')
    assert data_of(quick, "fruit") == {"apple": {"id": "1", "3": "a\nb"}, "pear": {"id": "2", "3": ""}}


def test_cells_of_csv_are_numbers_where_that_is_wanted(quick: Shell) -> None:
    quick("add", "fruit", "--csv", "--numbers", given="key,a,b,c,d\napple,3,-0.5,007,1234567890123456789\n")
    assert data_of(quick, "fruit") == {"apple": {"a": 3, "b": -0.5, "c": "007", "d": "1234567890123456789"}}


def test_numbers_without_csv_are_refused(quick: Shell) -> None:
    assert quick("add", "fruit", "--numbers", "apple").error.startswith("rowlock: --numbers is for --csv\n")


def test_without_a_name_the_first_column_of_csv_has_the_keys(quick: Shell) -> None:
    quick("add", "fruit", "--csv", given="name,id\napple,1\n")
    quick("add", "plain", "--csv", "--no-header", given="apple,1\n")
    quick("add", "second", "--csv", "2", "--header", given="id,name\n1,apple\n")
    assert [data_of(quick, name) for name in ("fruit", "plain", "second")] == [
        {"apple": {"id": "1"}},
        {"apple": {"2": "1"}},
        {"apple": {"id": "1"}},
    ]


def test_a_list_can_remember_what_is_done(any_quick: QuickShell) -> None:
    any_quick("add", "fruit", "--once", given="apple\npear\n")
    any_quick("done", "fruit", "apple", "pear")
    assert any_quick("add", "fruit", "--once", "apple", "fig").lines == ["added\t1", "existing\t0", "done_before\t1"]
    assert any_quick("status", "fruit").out == "fruit\topen\t0\t1\t0\t0\t0\t0\t2\t66%\t2\n"
    assert any_quick("forget", "fruit", "apple").out == "forgotten\t1\n"
    assert any_quick("forget", "fruit", "--older", "0s", "--json").document == {"forgotten": 1}
    assert any_quick("add", "fruit", "apple").lines[0] == "added\t1"


@pytest.mark.parametrize(
    ("column", "content", "wrong"),
    [
        ("nam", "id,name\n1,apple\n", "did you mean 'name'?"),
        ("name", "id,name\n1,apple\n2\n", "line 3 must have 2 cells, as the first line has, got 1"),
        ("name", 'id,name\n1,"a\nb"\n', "in line 3 contains a line break"),
        ("name", 'id,name\n1,"a"b"\n', "line 2 must be CSV"),
        ("name", "id,name\n1,\n", "the key '' in line 2 is empty"),
        ("name", "name,name\n1,2\n", "two columns 'name'"),
        ("3", "1,apple\n", "column must be 1 to 2, got 3"),
        ("name", f"name,text\na,{'x' * 300_000}\n", "the cells of line 2 must be at most 262144 bytes of JSON"),
        ("name", b"name,text\na,b\nc,\xff\n", "line 3 must be UTF-8 text"),
    ],
)
def test_wrong_csv_is_refused(quick: Shell, column: str, content: str | bytes, wrong: str) -> None:
    ran = quick("add", "fruit", "--csv", column, given=content)
    assert ran.status == 2
    assert wrong in ran.error


def test_an_error_in_one_of_several_csv_files_names_the_line_and_the_file(quick: Shell) -> None:
    quick.write("one.csv", "name\napple\n")
    quick.write("two.csv", 'name\npear\n"fig"s"\n')
    assert (
        "line 3 of two.csv must be CSV"
        in quick("add", "fruit", "--csv", "name", "-f", "one.csv", "-f", "two.csv").error
    )


def test_json_lines_are_keys_or_items(any_quick: QuickShell) -> None:
    any_quick("add", "fruit", "--ndjson", given='"apple"\n\n{"key": "pear", "data": {"g": 3}, "due": "1h"}\n')
    assert any_quick("ls", "fruit").lines == ["apple\t0\tready", "pear\t0\tdelayed"]


def test_a_json_line_may_be_due_at_a_moment(quick: Shell) -> None:
    quick("add", "fruit", "--ndjson", given='{"key": "pear", "due": "2031-01-01T00:00Z"}')
    assert quick("show", "fruit", "pear", "--json").document["due"] == "2031-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ('"a"\n{"key"\n', "line 2 must be JSON"),
        ('"a"\n7\n', "line 2 must be a string or an object, got int"),
        ('"a"\n{"kex": "b"}\n', "unknown field 'kex' of an item (line 2)"),
        ('\n{"key": ""}\n', "the key '' in line 2 is empty"),
        ('{"key": "a", "priority": 12}\n', "priority must be 0 to 9, got 12"),
    ],
)
def test_wrong_json_lines_are_refused(quick: Shell, content: str, wrong: str) -> None:
    ran = quick("add", "fruit", "--ndjson", given=content)
    assert ran.status == 2
    assert wrong in ran.error


def test_items_carry_data_gate_priority_and_due(quick: Shell) -> None:
    quick("add", "fruit", "a", "--data", '{"size": 3}', "--gate", "2", "--priority", "0", "--due", "2030-01-01T00:00Z")
    item = quick("show", "fruit", "a", "--json").document
    assert [item[name] for name in ("data", "gate", "priority", "due")] == [{"size": 3}, 2, 0, "2030-01-01T00:00:00Z"]


@pytest.mark.parametrize(
    ("option", "value", "wrong"),
    [
        ("--data", "{", "--data must be JSON"),
        ("--due", "soon", "a duration must be a number with a unit, got 'soon'"),
        ("--due", "2030-01-01", "a time must have a time zone, got '2030-01-01'"),
        ("--priority", "12", "priority must be 0 to 9, got 12"),
        ("--gate", "-1", "gate must be 0 to 2147483647, got -1"),
        ("--gate", "two", "the name of a gate, got 'two'"),
    ],
)
def test_a_wrong_option_is_refused(quick: Shell, option: str, value: str, wrong: str) -> None:
    ran = quick("add", "fruit", "apple", option, value)
    assert ran.status == 2
    assert wrong in ran.error


def test_strict_refuses_what_is_there_already(any_quick: QuickShell) -> None:
    any_quick("add", "fruit", "apple")
    ran = any_quick("add", "fruit", "pear", "apple", "--strict")
    assert (ran.status, "'apple' is on the list 'fruit' already" in ran.error) == (4, True)
    assert any_quick("ls", "fruit", "-k").out == "apple\n"


@pytest.mark.parametrize("name", ["", "  ", "a*", "x" * 201, "two\nlines"])
def test_a_wrong_name_of_a_list_is_refused(quick: Shell, name: str) -> None:
    ran = quick("add", name, "apple")
    assert ran.status == 2
    assert ran.error.startswith("rowlock: the list name ")


def test_the_answer_can_be_json(quick: Shell) -> None:
    assert quick("add", "fruit", "apple", "--json").document == {"added": 1, "existing": 0}


def test_quiet_says_nothing(quick: Shell) -> None:
    assert quick("add", "fruit", "apple", "-q").out == ""


def test_formats_exclude_each_other(quick: Shell) -> None:
    assert quick("add", "fruit", "--ndjson", "-0").status == 2


@pytest.mark.parametrize("levels", [129, 5_000])
def test_data_nested_too_deeply_are_refused(quick: Shell, levels: int) -> None:
    deep = "[" * levels + "]" * levels
    for ran in (
        quick("add", "fruit", "pear", "--data", deep),
        quick("add", "fruit", "--ndjson", given=f'"apple"\n{{"key": "pear", "data": {deep}}}\n'),
    ):
        assert (ran.status, "at most 128" in ran.error) == (2, True)
