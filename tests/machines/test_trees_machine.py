"""Maps, their clones and cursors against a dict and a sorted list, checked after each step."""

from bisect import bisect_left
from random import Random
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from rowlock.trees import IntervalMap, RankedMap, SortedMap

KEYS = st.integers(0, 60)
MANY = st.lists(st.tuples(KEYS, st.integers()), max_size=40)
BOUNDS = st.sampled_from(["[]", "[)", "(]", "()"])
CALM = settings(max_examples=15, stateful_step_count=35)


class Maps(RuleBasedStateMachine):
    """Any number of maps that began as clones of each other, each with the dict it should equal."""

    kind: type = SortedMap
    options: ClassVar[dict] = {}
    maps = Bundle("maps")

    def __init__(self):
        super().__init__()
        self.pairs = []

    def keep(self, tree, model):
        self.pairs.append((tree, model))
        return len(self.pairs) - 1

    @staticmethod
    def key(n):
        return n

    @rule(target=maps, entries=MANY)
    def build(self, entries):
        entries = [(self.key(n), value) for n, value in entries]
        if len(self.pairs) > 5:
            return multiple()
        return self.keep(self.kind(entries, **self.options), dict(entries))

    @rule(target=maps, at=maps)
    def clone(self, at):
        tree, model = self.pairs[at]
        return self.keep(tree.clone(), dict(model)) if len(self.pairs) <= 8 else multiple()

    @rule(at=maps, n=KEYS, value=st.integers())
    def put(self, at, n, value):
        tree, model = self.pairs[at]
        tree[self.key(n)] = model[self.key(n)] = value

    @rule(at=maps, start=KEYS, count=st.integers(1, 40))
    def put_a_run(self, at, start, count):
        tree, model = self.pairs[at]
        for n in range(start, start + count):
            tree[self.key(n)] = model[self.key(n)] = n

    @rule(at=maps, n=KEYS)
    def pop(self, at, n):
        tree, model = self.pairs[at]
        assert tree.pop(self.key(n), None) == model.pop(self.key(n), None)

    @rule(at=maps, start=KEYS, count=st.integers(1, 40))
    def pop_a_run(self, at, start, count):
        tree, model = self.pairs[at]
        for n in range(start, start + count):
            assert tree.pop(self.key(n), None) == model.pop(self.key(n), None)

    @rule(at=maps)
    def pop_an_end(self, at):
        tree, model = self.pairs[at]
        if model:
            assert tree.popitem() == (max(model), model.pop(max(model)))

    @rule(at=maps, entries=MANY)
    def update(self, at, entries):
        tree, model = self.pairs[at]
        entries = [(self.key(n), value) for n, value in entries]
        tree.update(entries)
        model.update(entries)

    @rule(at=maps)
    def clear(self, at):
        tree, model = self.pairs[at]
        tree.clear()
        model.clear()

    @rule(at=maps, n=KEYS)
    def look_up(self, at, n):
        tree, model = self.pairs[at]
        assert tree.get(self.key(n)) == model.get(self.key(n))
        assert (self.key(n) in tree) == (self.key(n) in model)

    @rule(at=maps, low=KEYS, high=KEYS, bounds=BOUNDS)
    def walk_a_range(self, at, low, high, bounds):
        tree, model = self.pairs[at]
        low, high = self.key(low), self.key(high)
        above = low.__le__ if bounds[0] == "[" else low.__lt__
        below = high.__ge__ if bounds[1] == "]" else high.__gt__
        wanted = [key for key in sorted(model) if above(key) and below(key)]
        assert list(tree.range(low, high, bounds=bounds)) == wanted
        assert list(tree.range(low, high, bounds=bounds, reverse=True)) == wanted[::-1]

    @rule(at=maps, n=KEYS, steps=st.lists(st.booleans(), max_size=12))
    def move_a_cursor(self, at, n, steps):
        tree, model = self.pairs[at]
        keys, cursor = sorted(model), tree.cursor()
        position = bisect_left(keys, self.key(n))
        cursor.seek_ge(self.key(n))
        for forwards in steps:
            (cursor.next if forwards else cursor.prev)()
            position = max(-1, min(len(keys), position + (1 if forwards else -1)))
            assert (cursor.item if cursor.valid else None) == (
                (keys[position], model[keys[position]]) if 0 <= position < len(keys) else None
            )

    @invariant()
    def all_is_well(self):
        for tree, model in self.pairs:
            tree.check()
            assert list(tree.items()) == sorted(model.items())
            assert list(reversed(tree)) == sorted(model, reverse=True)


class RankedMaps(Maps):
    """The same with ranks and positions."""

    kind = RankedMap

    @rule(at=Maps.maps, n=KEYS)
    def rank(self, at, n):
        tree, model = self.pairs[at]
        assert tree.rank(n) == bisect_left(sorted(model), n)

    @rule(at=Maps.maps, start=st.integers(-70, 70), stop=st.integers(-70, 70))
    def slice(self, at, start, stop):
        tree, model = self.pairs[at]
        assert tree.keys()[start:stop] == sorted(model)[start:stop]
        assert [tree.nth(n) for n in range(len(model))] == sorted(model)


class IntervalMaps(Maps):
    """The same with intervals, some long and some points."""

    kind = IntervalMap

    @staticmethod
    def key(n):
        return n, n + n * n % 31

    @rule(at=Maps.maps, low=KEYS, length=st.integers(0, 30))
    def overlap(self, at, low, length):
        tree, model = self.pairs[at]
        high = low + length
        assert tree.overlaps((low, high)) == [
            (start, end)
            for start, end in sorted(model)
            if (start < high or start == low) and (low < end or start >= low)
        ]


WIDTHS = [2, 3, 4, None]


def narrow(width):
    return {} if width is None else {"leaf_width": width, "inner_width": width}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("machine", [Maps, RankedMaps, IntervalMaps])
def test_maps_and_their_clones_equal_their_models(machine, width):
    run_state_machine_as_test(type("Run", (machine,), {"options": narrow(width)}), settings=CALM)


@pytest.mark.parametrize("width", WIDTHS)
def test_hashed_maps_and_their_clones_equal_their_models(width):
    run_state_machine_as_test(type("Run", (Maps,), {"options": {"hashed": True, **narrow(width)}}), settings=CALM)


def negated(n):
    return -n


class KeyedMaps(Maps):
    """Keys the other way round."""

    options: ClassVar[dict] = {"key": negated, "leaf_width": 3, "inner_width": 3}

    @rule(at=Maps.maps)
    def pop_an_end(self, at):
        tree, model = self.pairs[at]
        if model:
            assert tree.popitem() == (min(model), model.pop(min(model)))

    @rule(at=Maps.maps, low=KEYS, high=KEYS)
    def walk_a_range(self, at, low, high):
        tree, model = self.pairs[at]
        assert list(tree.range(high, low)) == [n for n in sorted(model, reverse=True) if low < n <= high]

    def move_a_cursor(self):
        """Left out: the model goes by the other order."""

    @invariant()
    def all_is_well(self):
        for tree, model in self.pairs:
            tree.check()
            assert list(tree.items()) == sorted(model.items(), reverse=True)


def test_maps_with_a_key_function_equal_their_models():
    run_state_machine_as_test(KeyedMaps, settings=CALM)


@pytest.mark.parametrize("kind", [SortedMap, RankedMap])
def test_ten_thousand_random_writes_at_the_least_width_keep_every_invariant(kind):
    rnd, tree, model = Random(27), kind(leaf_width=2, inner_width=2), {}
    for step in range(10_000):
        n = rnd.randrange(64)
        if rnd.random() < (0.7 if step // 1000 % 2 else 0.35):
            tree[n] = model[n] = step
        else:
            assert tree.pop(n, None) == model.pop(n, None)
        tree.check()
    assert dict(tree) == model
