"""The text of a token: known by its beginning, told from a mistyped one by its end, never stored."""

import random
from datetime import UTC, datetime

import pytest

from rowlock import tokens
from rowlock.roles import Role
from rowlock.tokens import NewToken, TokenInfo


def test_a_token_is_its_prefix_thirty_random_letters_and_six_to_check_them() -> None:
    text = tokens.generate()
    assert (text[:3], len(text), text[3:].isalnum() and text.isascii()) == ("rl_", 39, True)


def test_a_minted_token_is_well_formed() -> None:
    assert all(tokens.well_formed(tokens.generate()) for _ in range(200))


def test_no_token_comes_twice() -> None:
    assert len({tokens.generate() for _ in range(1000)}) == 1000


def test_every_letter_comes_about_as_often_as_every_other() -> None:
    drawn = "".join(tokens.generate()[3:33] for _ in range(4000))
    share = [drawn.count(letter) * 62 / len(drawn) for letter in set(drawn)]
    assert (len(share), min(share) > 0.8, max(share) < 1.2) == (62, True, True)


def test_the_checksum_of_a_token_stays_what_it_is() -> None:
    # Scanners of secrets keep this rule for years: CRC-32 of all before it, in base 62.
    assert tokens.well_formed("rl_" + "0" * 30 + "1ogAOy") is True


@pytest.mark.parametrize("place", range(3, 39))
def test_a_token_with_one_letter_wrong_is_told_apart(place: int) -> None:
    text = tokens.generate()
    wrong = "a" if text[place] != "a" else "b"
    assert not tokens.well_formed(text[:place] + wrong + text[place + 1 :])


@pytest.mark.parametrize("text", ["", "rl_", "rl_é", "Bearer", "RL_" + "0" * 36, "rl_" + "０" * 36, "rl_" + "0" * 37])
def test_what_is_no_token_is_told_apart(text: str) -> None:
    assert not tokens.well_formed(text)


def test_a_token_with_a_line_break_after_it_is_none() -> None:
    assert not tokens.well_formed(tokens.generate() + "\n")


def test_of_ten_thousand_random_texts_of_that_shape_next_to_none_passes_for_a_token() -> None:
    letters = random.Random(7)
    shaped = ("rl_" + "".join(letters.choices("abcdefXYZ0123456789", k=36)) for _ in range(10_000))
    assert sum(map(tokens.well_formed, shaped)) == 0


def test_what_is_shown_of_a_token_is_its_last_four_letters() -> None:
    text = tokens.generate()
    assert tokens.masked(text) == f"rl_…{text[-4:]}"


def test_a_new_token_does_not_print_itself() -> None:
    now = datetime.now(UTC)
    info = TokenInfo(1, "rl_…abcd", "", Role.VIEWER, (), now, None, None, None, "live")
    made = NewToken(tokens.generate(), info)
    assert repr(made) == "NewToken('rl_…abcd')"
