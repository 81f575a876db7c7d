"""Clones cost nothing, share everything, and never see each other's writes."""

import random
import threading
import timeit

import pytest

from rowlock.trees import IntervalMap, IntervalSet, RankedMap, RankedSet, SortedMap, SortedSet

MAPS = [SortedMap, RankedMap]
SETS = [SortedSet, RankedSet]
WIDTHS = [2, 3, 4, 512]


def nodes(tree):
    found, level = [tree._root], [tree._root]
    for _ in tree._levels:
        level = [kid for node in level for kid in node.children]
        found += level
    return found


@pytest.mark.parametrize("kind", SETS)
def test_each_side_shows_only_its_own_changes(kind):
    numbers = kind(range(10))
    twin = numbers.clone()
    twin.add(50)
    numbers.remove(5)
    assert list(numbers) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert list(twin) == [*range(10), 50]


@pytest.mark.parametrize("kind", SETS)
def test_clearing_a_clone_leaves_the_original(kind):
    numbers = kind(range(10))
    numbers.clone().clear()
    assert list(numbers) == list(range(10))


@pytest.mark.parametrize("kind", SETS)
def test_clearing_the_original_leaves_the_clone(kind):
    numbers = kind(range(10))
    twin = numbers.clone()
    numbers.clear()
    assert list(twin) == list(range(10))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", MAPS)
def test_all_values_are_intact_on_both_sides_after_a_write(kind, width):
    numbers = kind(((n, str(n)) for n in range(1000)), leaf_width=width, inner_width=width)
    twin = numbers.clone()
    numbers[500] = "mine"
    twin[501] = "its"
    assert list(numbers.items()) == [(n, "mine" if n == 500 else str(n)) for n in range(1000)]
    assert list(twin.items()) == [(n, "its" if n == 501 else str(n)) for n in range(1000)]


@pytest.mark.parametrize("kind", [SortedMap, RankedMap, IntervalMap])
def test_no_node_is_copied_before_a_write_and_only_a_path_after_it(kind):
    tree = kind((((n, n + 1), n) for n in range(1000)), leaf_width=4, inner_width=4)
    twin = tree.clone()
    assert twin._root is tree._root
    tree[500, 501] = 0
    fresh = {id(node) for node in nodes(tree)} - {id(node) for node in nodes(twin)}
    assert len(fresh) == tree.height


def test_a_clone_costs_the_same_at_any_size():
    small, large = SortedSet(range(10)), SortedSet(range(1_000_000))
    costs = [min(timeit.repeat(tree.clone, number=1000, repeat=5)) for tree in (small, large)]
    assert costs[1] < costs[0] * 3


def test_a_chain_of_clones_keeps_every_version():
    tree, versions = SortedMap(leaf_width=2, inner_width=2), []
    for n in range(60):
        tree[n * 7 % 60] = n
        versions.append(tree.clone())
    assert [len(version) for version in versions] == list(range(1, 61))
    assert [version[n * 7 % 60] for n, version in enumerate(versions)] == list(range(60))


def test_a_clone_of_a_clone_is_independent_of_both():
    first = SortedMap({1: "a"})
    second = first.clone()
    third = second.clone()
    second[1], third[1] = "b", "c"
    assert (first[1], second[1], third[1]) == ("a", "b", "c")


def test_an_empty_tree_can_be_cloned():
    twin = SortedMap().clone()
    twin[1] = 1
    twin.check()
    assert dict(twin) == {1: 1}


def test_equal_clones_are_known_equal_without_looking():
    tree = SortedMap({1: float("nan")})
    assert tree == tree.clone()


def clone_then_walk(tree):
    twin = tree.clone()
    return twin, iter(tree)


def walk_then_clone(tree):
    walk = iter(tree)
    next(walk)
    return tree.clone(), walk


@pytest.mark.parametrize("begin", [clone_then_walk, walk_then_clone])
def test_ending_a_walk_does_not_take_away_what_a_reader_of_a_clone_has_in_hand(begin):
    tree = SortedSet(range(10))
    twin, walk = begin(tree)
    next(walk)
    in_hand = twin._root.sort_keys
    tree.add(99)
    assert in_hand == list(range(10))


def run_all(*workers):
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=[work]) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_clones_grow_in_threads_without_seeing_each_other():
    trunk, clones = SortedMap(leaf_width=4, inner_width=4), []
    for n in range(1000):
        trunk[n] = n
        if n % 200 == 199:
            clones.append((trunk.clone(), n + 1))

    def grow(tree, start):
        return lambda: [tree.update({n: n}) for n in range(start, 1000)]

    run_all(*[grow(tree, start) for tree, start in clones])
    assert [tree == trunk for tree, _ in clones] == [True] * 5
    clones[0][0].clear()
    assert [len(tree) for tree, _ in clones] == [0, 1000, 1000, 1000, 1000]
    clones[1][0].check()


def read_for_good(tree, wanted):
    def read():
        for _ in range(20):
            assert list(tree.items()) == wanted
            assert [tree.rank(key) for key, _ in wanted[::50]] == list(range(0, len(wanted), 50))

    return read


@pytest.mark.parametrize("width", [3, 512])
def test_threads_read_clones_while_the_original_is_written(width):
    tree = RankedMap(((n, n) for n in range(0, 2000, 2)), leaf_width=width, inner_width=width)
    readers = [read_for_good(tree.clone(), list(tree.items())) for _ in range(3)]
    rnd = random.Random(1)

    def write():
        for _ in range(3000):
            tree[rnd.randrange(2000)] = -1
            tree.pop(rnd.randrange(2000), None)
            tree.rank(1000)

    run_all(write, *readers)
    tree.check()


def test_threads_search_a_shared_clone_while_the_original_is_written():
    tree = IntervalSet(((n, n + 5) for n in range(1000)), leaf_width=4, inner_width=4)
    snapshot = tree.clone()

    def search():
        for n in range(10, 990):
            assert len(snapshot.overlaps(n)) == 5

    def write():
        for n in range(1000):
            tree.discard((n, n + 5))
            tree.add((n, n + 50))

    run_all(write, search, search)
    tree.check()
    snapshot.check()
