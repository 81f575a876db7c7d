"""Lines for a shell: no key is run as a command, neither by the shell nor by a program that it starts."""

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sample_items import claimed_item

from rowlock import Invalid, Item
from rowlock.worker.exec.command_template import CommandTemplate

CANARY = "canary"
HOSTILE = [
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"'; touch {CANARY}; '",
    f'"; touch {CANARY}; "',
    f"a\\'; touch {CANARY}; #",
    f"x;touch {CANARY}",
    f"|touch {CANARY}",
    f"&touch {CANARY}&",
    f">{CANARY}",
    f"${{IFS}}touch${{IFS}}{CANARY}",
    f"$'\\x24(touch {CANARY})'",
    f"\\$(touch {CANARY})",
    f"a[$(touch {CANARY})]",
    f"a\ntouch {CANARY}\nb",
    f'") system("touch {CANARY}") ("',
]
ODD = ["$((1+1))", "-rf", "--", "*", "~", "a b", "two  words", "\\", "'\"'\"'", "é😀", "{}", "{name}", "%s%n", "\\n"]
ODD += ["a\tb", "x\x1b]0;y\x07", "$0", "$1", "$@", "!!", "#c", "EOF"]

SAFE = [
    'printf "%s" {}',
    "printf '%s' '{}'",
    'printf "%s" "{}"',
    'X={}; printf "%s" "$X"',
    'bash -c \'printf "%s" "$1"\' _ {}',
    'sh -ec \'printf "%s" "$0"\' {}',
    'env -i sh -c \'printf "%s" "$1"\' _ "{}"',
    'bash -c \'printf "%s" "$ROWLOCK_KEY"\'; true {}',
    'eval \'printf "%s" "$ROWLOCK_KEY"\'; true {}',
    'awk \'BEGIN {printf "%s", ENVIRON["ROWLOCK_KEY"]}\'; true {}',
    "perl -e 'print $ARGV[0]' -- {}",
    'case {} in *) printf "%s" {};; esac',
]
"""Lines that write the key, and nothing else."""

CODE = [
    "bash -c 'printf \"%s\n\" {} >> out'",
    'bash -c "echo {}"',
    "sh -c {}",
    "sh -c 2>/dev/null {}",
    "sh -c 'echo 'x{}",
    "sh -c 'echo '{}",
    "sh -c {}' x'",
    "sh -ec 'echo {}'",
    "bash -euo pipefail -c 'echo {}'",
    "bash -c -o pipefail 'echo {}'",
    "bash --rcfile none -c 'echo {}'",
    "$SHELL -c 'echo {}'",
    '"${SHELL:-/bin/sh}" -c "echo {}"',
    "env A=1 sh -c 'echo {}'",
    "timeout 5 sh -c 'echo {list}'",
    "some-launcher --flag sh -c 'echo {name}'",
    "echo x | xargs sh -c 'echo {}'",
    "find . -exec sh -c 'echo {}' ';'",
    "docker exec box sh -c 'echo {}'",
    "if true; then X=1 sh -c 'echo {}'; fi",
    "case x in *) sh -c 'echo {}';; esac",
    'echo "$(sh -c "echo {}")"',
    "echo `sh -c 'echo {}'`",
    'echo "`bash -c \\"echo {}\\"`"',
    "bash -c \"$(printf 'echo %s' {})\"",
    "bash -c $(true) {}",
    "cat <<EOF\nit's\nEOF\nsh -c 'echo {}'",
    "bash <<EOF\necho {}\nEOF",
    "bash -s x <<EOF\necho {}\nEOF",
    "bash <<< {}",
    "bash <(echo {})",
    'eval "printf %s {} >> out"',
    "true && command eval echo {}",
    "ssh host cat {}",
    "ssh {} uptime",
    "nice -n 5 ssh host 'cat {}'",
    "ssh host <<EOF\ncat {}\nEOF",
    "su bob -c 'echo {}'",
    "watch 'echo {}'",
    "trap 'echo {}' EXIT",
    "flock file -c 'echo {}'",
    "python3.11 -Ic 'print(\"{}\")'",
    "python3 <<EOF\nprint('{}')\nEOF",
    "perl -ne 'print if /{}/' file",
    "perl -i.save -pe's/x/{}/' file",
    "ruby -e 'puts \"{}\"'",
    "node -pe '\"{}\"'",
    "node --eval=\"console.log('{}')\"",
    "php -r 'echo \"{}\";'",
    'awk "BEGIN{print \\"{}\\"}"',
    "awk -F , '/{}/' file",
    "awk $options '/{}/' file",
    "awk 2>/dev/null '/{}/' file",
    "sed 's/x/{}/' file",
    "sed -i '' -e 's/x/{}/' file",
    "sqlite3 file.db \"select '{}'\"",
    "psql shop -c \"select '{}'\"",
    "mysql -u root -e \"select '{}'\"",
    "echo $(( {} + 1 ))",
    "(( {} > 3 ))",
    'echo "${x:{}}"',
    "[[ {} -eq 3 ]]",
    "if eval {}; then true; fi",
    "if true; then eval {}; fi",
    "if true; then true; else eval {}; fi",
    "if false; then true; elif eval {}; then true; fi",
    "for x in 1; do eval {}; done",
    "while eval {}; do break; done",
    "until eval {}; do break; done",
    "! eval {}",
    "{ eval {}; }",
    "case x in *) eval {};; esac",
    "case x in (x) eval {};; esac",
    "A=1 eval {}",
    "A=1 B='2 3' eval {}",
    ">o eval {}",
    "2> o eval {}",
    "builtin eval {}",
    "'eval' {}",
    'ev"al" {}',
    "ev\\al {}",
    "\\eval {}",
    "/usr/bin/ssh host {}",
    "then trap {} EXIT",
    "A=1 script -c {}",
    "do su bob -c {}",
    "$(echo eval) {}",
    "`echo eval` {}",
    "$e {}",
    '"$e" {}',
    "${e} {}",
    "ev${x}al {}",
    "if true; then $e {}; fi",
    "A=1 >o $e {}",
    "command $e {}",
    "nice -n 5 $e {}",
    "awk {} file",
    "awk -F , {} file",
    "awk -v a=1 {} file",
    "awk /{}/ file",
    "sed {} f",
    "sed -n {} f",
    "sed -n s/a/{}/ f",
    "sed -e p -e {} f",
    "sed -es/a/{}/ f",
    "jq {} f",
    "jq --arg a b {} f",
    "sqlite3 :memory: {}",
    "sqlite3 file.db {}",
    "sqlite3 -cmd {} file.db",
    "php -r {}",
    "perl -e {}",
    "env -S {}",
    "env -iS {}",
    "env --split-string={}",
    "env -S 'echo {}'",
    "unset {}",
    "let {}",
    "echo {} | sh",
    "printf '%s' {} | sudo /bin/bash -x; true",
    'x={}; eval "$x"',
    'x="{}"; sh -c "$x"',
    "vim -c {} file",
    "gdb -ex {} tool",
    "python3 -m timeit {}",
]

COMMON = [
    "convert {} small/{stem}.png && rm {}",
    'curl -fsS "https://example.org/{}" > "out/{name}" 2>&1',
    "bash script.sh --out={} {}",
    "python3 -m tool {}",
    "perl -i.bak -pe 's/a/b/' {}",
    "awk -F , '{print $1}' {}",
    "sed -n -e 'p' {}",
    "sed 's/\\./,/g' {}",
    "perl -pe 's/\\d+/N/g' {} > out/{name}",
    "bash script.sh {} # run it",
    'python3 tool.py {} "$(date +%F)"',
    "sqlite3 {} 'select 1'",
    "psql -v key={} -f query.sql",
    "cat {} | ssh host 'cat > copy'",
    "cd /etc/ssh && ls {}",
    "sed -n 5p {}",
    "sed s/a/b/ {}",
    "sed -r s/a/b/ {}",
    "awk -F , -v key={} '$1 == key' file",
    "awk -f prog.awk {}",
    "jq -r .name {}",
    "jq -c --arg key {} '.[$key]' file",
    "$HOME/bin/tool {}",
    "A=$x tool {}",
    "if $ready; then cp {} there; fi",
    "cp $flags {} there",
    "env A={} tool",
    "sort {} > $target",
    "[[ {} == *.jpg ]]",
    "cat {} | sh",
    "echo {} | sh script.sh",
    "export x={}; sh -c 'echo \"$x\"'",
    "vim {}",
]


def item(key: str) -> Item:
    return claimed_item(key, list=key)


def ran(template: CommandTemplate, key: str, folder: Path, shell: str = "sh") -> bytes:
    """What the line writes for a key."""
    command = [shell, *template.filled([item(key)])[1:]]
    surroundings = {"PATH": os.environ["PATH"], "ROWLOCK_KEY": key, "ROWLOCK_LIST": key}
    return subprocess.run(command, cwd=folder, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True).stdout


@pytest.mark.parametrize("line", SAFE)
def test_a_line_gets_the_key_as_it_is_and_nothing_of_it_is_run(line: str, tmp_path: Path) -> None:
    template = CommandTemplate((line,), shell=True)
    keys = HOSTILE[:4] + ODD[:6] + ["it's"]
    assert [ran(template, key, tmp_path).decode() for key in keys] == keys
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torture
@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("line", SAFE)
def test_every_line_gets_every_key_as_it_is(line: str, shell: str, tmp_path: Path) -> None:
    template = CommandTemplate((line,), shell=True)
    assert [ran(template, key, tmp_path, shell).decode() for key in HOSTILE + ODD] == HOSTILE + ODD
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", CODE)
def test_a_place_in_code_is_refused(line: str) -> None:
    with pytest.raises(Invalid):
        CommandTemplate((line,), shell=True)


def test_a_refusal_names_the_program_and_a_way_out() -> None:
    with pytest.raises(Invalid, match="what bash may read as code") as caught:
        CommandTemplate(("bash -c 'echo {}'",), shell=True)
    assert "bash -c 'echo \"$ROWLOCK_KEY\"'" in caught.value.hint


@pytest.mark.parametrize("line", COMMON)
def test_lines_in_which_no_value_is_code_are_taken(line: str) -> None:
    assert CommandTemplate((line,), shell=True).filled([item("a")])


@pytest.mark.parametrize("line", ["cat <<EOF\n{}\nEOF", 'echo "$(basename {})"', 'echo "`basename {}`"'])
def test_a_place_that_cannot_be_quoted_is_refused(line: str) -> None:
    with pytest.raises(Invalid, match="cannot be quoted"):
        CommandTemplate((line,), shell=True)


def test_a_variable_of_the_shell_is_not_ours(tmp_path: Path) -> None:
    template = CommandTemplate(('name=theirs; printf %s "${name}"; : {}',), shell=True)
    assert ran(template, "ours", tmp_path) == b"theirs"


places = st.sampled_from(["{}", "'{}'", '"{}"', '"a {} b"', "a{}b", "\\{}", "$'{}'", "${x}{}", "{list}"])
plain = st.sampled_from(
    ["a", "'b c'", '"d e"', "-n", "\\'", '\\"', "$x", '"${x:-y}"', "'it'\\''s'", "a#b", "2>/dev/null"]
)
words = st.lists(places | plain, max_size=3).map(" ".join)
hidden = ["A=1 eval", "! eval", ">/dev/null ev'al'", "$(echo eval)", "e=eval; $e", "awk", "env -S"]
starts = st.sampled_from(
    [*hidden, "echo", "printf %s", "sh -c", "bash -c", "env bash -c", "eval", "X=1 sh -c 'echo \"$0\"'"]
)
simple = st.builds("{} {}".format, starts, words)


def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Commands that hold other commands."""
    forms = ['echo "$({})"', "echo $({})", "sh -c $({})", "({})", "{{ {}; }}", "if {}; then echo; fi", "echo x; {}"]
    forms += [
        "case a in b) {};; *) {};; esac",
        "cat <<EOF\nit's $({})\nEOF\n",
        "echo # it's\n{}",
        "bash <<EOF\n{}\nEOF\n",
    ]
    return st.builds(
        lambda form, one: form.replace("{}", one).replace("{{", "{").replace("}}", "}"), st.sampled_from(forms), inner
    )


@pytest.mark.torture
@pytest.mark.skipif(shutil.which("bash") is None, reason="a shell beside sh")
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.recursive(simple, around, max_leaves=4))
def test_no_line_that_is_taken_runs_a_key(line: str) -> None:
    try:
        template = CommandTemplate((line,), shell=True)
    except Invalid:
        return
    with TemporaryDirectory() as folder:
        for key, shell in product(HOSTILE, ("sh", "bash")):
            ran(template, key, Path(folder), shell)
            assert not Path(folder, CANARY).exists(), (line, key, shell)
