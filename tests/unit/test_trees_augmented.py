"""A summary is two pure functions; the tree keeps it right, and plain trees pay nothing for it."""

import random

import pytest

from rowlock.trees import AugmentedMap, AugmentedSet, SortedMap
from rowlock.trees.invariants import check


class SummedMap(AugmentedMap):
    """The sum of all values."""

    @staticmethod
    def of_leaf(keys, vals):
        return sum(vals)

    @staticmethod
    def of_inner(summaries):
        return sum(summaries)


class JoinedSet(AugmentedSet):
    """All elements in order, as one string."""

    @staticmethod
    def of_leaf(keys, vals):
        return "".join(keys)

    @staticmethod
    def of_inner(summaries):
        return "".join(summaries)


@pytest.fixture(params=[2, 3, 4, 512])
def totals(request):
    return SummedMap(((n, n) for n in range(100)), leaf_width=request.param, inner_width=request.param)


def test_the_summary_is_that_of_all_entries(totals):
    assert totals.summary() == sum(range(100))


def test_a_replaced_value_is_summed_up_anew(totals):
    totals.summary()
    totals[50] = 1050
    assert totals.summary() == sum(range(100)) + 1000


def test_the_summary_is_right_after_every_write(totals):
    rnd, model = random.Random(4), {n: n for n in range(100)}
    for step in range(600):
        come, gone = rnd.randrange(200), rnd.randrange(200)
        totals[come] = model[come] = step
        totals.pop(gone, None)
        model.pop(gone, None)
        assert totals.summary() == sum(model.values())
        totals.check()


def test_a_clone_keeps_its_own_summary(totals):
    totals.summary()
    twin = totals.clone()
    totals[0] = 500
    assert (totals.summary(), twin.summary()) == (sum(range(100)) + 500, sum(range(100)))


def test_a_write_drops_only_the_summaries_on_its_way():
    totals = SummedMap(((n, n) for n in range(1000)), leaf_width=4, inner_width=4)
    totals.summary()
    totals[500] = 0
    dropped, level = 0, [totals._root]
    for _ in range(totals.height):
        dropped += sum(node.summary is None for node in level)
        level = [kid for node in level for kid in getattr(node, "children", [])]
    assert dropped == totals.height


def test_summaries_work_for_sets_too():
    letters = JoinedSet("hello", leaf_width=2, inner_width=2)
    letters.add("a")
    assert letters.summary() == "aehlo"


def test_check_finds_a_wrong_summary(totals):
    totals.summary()
    totals._root.summary += 1
    with pytest.raises(AssertionError, match="a summary is computed from its node"):
        totals.check()


def spoil_order(tree):
    leaf = tree._root.children[0].children[0] if tree.height > 2 else tree._root.children[0]
    leaf.sort_keys[0] = 999


def spoil_length(tree):
    tree._len += 1


def spoil_fill(tree):
    tree._leaf = tree._leaf._replace(min_size=4)


def spoil_separator(tree):
    tree._root.sort_keys[0] = -1


def spoil_values(tree):
    node = tree._root
    for _ in tree._levels:
        node = node.children[0]
    node.vals.append(0)


def spoil_ownership(tree):
    tree._root.owner = None


@pytest.mark.parametrize(
    "spoil", [spoil_order, spoil_length, spoil_fill, spoil_separator, spoil_values, spoil_ownership]
)
def test_check_finds_what_is_spoilt(spoil):
    tree = SortedMap(((n, n) for n in range(20)), leaf_width=3, inner_width=3)
    check(tree)
    spoil(tree)
    with pytest.raises(AssertionError, match="violated"):
        tree.check()


def test_a_plain_tree_never_makes_a_summary():
    tree = SortedMap(((n, n) for n in range(100)), leaf_width=2, inner_width=2)
    tree.update(dict.fromkeys(range(50, 150), 0))
    level = [tree._root]
    for _ in range(tree.height):
        assert {node.summary for node in level} == {None}
        level = [kid for node in level for kid in getattr(node, "children", [])]
