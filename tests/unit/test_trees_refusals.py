"""What cannot be ordered is refused with a clear error, and the tree is as it was before."""

from decimal import Decimal

import pytest

from rowlock.trees import AugmentedMap, RankedMap, RankedSet, SortedMap, SortedSet

NAN = float("nan")
WIDTHS = [2, 3, 512]


@pytest.fixture(params=[SortedMap, RankedMap])
def kind(request):
    return request.param


@pytest.fixture(params=WIDTHS)
def numbers(request, kind):
    return kind(((n, n) for n in range(50)), leaf_width=request.param, inner_width=request.param)


@pytest.mark.parametrize("key", ["a", None, (1,), 1j, object()])
def test_a_key_that_cannot_be_compared_is_a_type_error_and_nothing_happens(numbers, key):
    with pytest.raises(TypeError, match="not supported between"):
        numbers[key] = 0
    assert list(numbers) == list(range(50))
    numbers.check()


@pytest.mark.parametrize("key", [None, 1j, object()])
def test_a_key_without_any_order_is_refused_by_an_empty_tree_too(kind, key):
    empty = kind()
    with pytest.raises(TypeError, match="not supported between"):
        empty[key] = 0
    assert not empty
    empty.check()


def test_nan_is_a_value_error_and_nothing_happens(numbers):
    with pytest.raises(ValueError, match="does not equal itself"):
        numbers[NAN] = 0
    assert list(numbers) == list(range(50))
    numbers.check()


@pytest.mark.parametrize("key", [NAN, Decimal("nan")])
def test_nan_is_refused_by_an_empty_tree_too(kind, key):
    empty = kind()
    with pytest.raises(ValueError, match="does not equal itself"):
        empty[key] = 0
    assert not empty


@pytest.mark.parametrize("keys", [[NAN], [1.0, NAN], [NAN, 1.0], [3.0, NAN, 1.0, 2.0]])
@pytest.mark.parametrize("make", [SortedSet, RankedSet])
def test_a_tree_is_not_built_with_nan(make, keys):
    with pytest.raises(ValueError, match="keys must be ordered"):
        make(keys)


@pytest.mark.parametrize("keys", [[object()], [1, "a"], ["a", 1, 2]])
@pytest.mark.parametrize("make", [SortedSet, RankedSet])
def test_a_tree_is_not_built_of_keys_that_cannot_be_compared(make, keys):
    with pytest.raises(TypeError, match="not supported between"):
        make(keys)


def test_keys_with_only_a_partial_order_are_refused():
    with pytest.raises(ValueError, match="keys must be ordered"):
        SortedSet([frozenset("a"), frozenset("b")])


@pytest.mark.parametrize(
    "more", [{"a": 1}, dict.fromkeys([*range(900, 990), "a"]), {NAN: 1} | dict.fromkeys(range(90))]
)
def test_a_refused_update_leaves_a_sound_tree(numbers, more):
    with pytest.raises((TypeError, ValueError)):
        numbers.update(more)
    numbers.check()
    assert list(numbers)[:50] == list(range(50))


def test_looking_up_a_key_that_cannot_be_compared_is_a_type_error(numbers):
    with pytest.raises(TypeError):
        "a" in numbers  # noqa: B015
    with pytest.raises(TypeError):
        numbers.pop("a", None)
    numbers.check()


def test_nan_is_never_found(numbers):
    assert NAN not in numbers
    assert numbers.get(NAN) is None
    assert numbers.pop(NAN, "none") == "none"


def test_a_hashed_tree_refuses_what_it_cannot_hash_and_nothing_happens(kind):
    hashed = kind({(1,): 1}, hashed=True)
    with pytest.raises(TypeError, match="unhashable"):
        hashed[1, [2]] = 2
    with pytest.raises(TypeError, match="unhashable"):
        hashed.update([((1, [2]), 2)])
    assert dict(hashed) == {(1,): 1}
    hashed.check()


def test_a_hashed_tree_refuses_what_it_cannot_compare_and_nothing_happens(kind):
    hashed = kind({1: 1}, hashed=True)
    with pytest.raises(TypeError, match="not supported between"):
        hashed["a"] = 2
    assert "a" not in hashed
    hashed.check()


class Moody:
    """A key whose comparisons fail once patience runs out."""

    patience = 10**9

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        Moody.patience -= 1
        if Moody.patience < 0:
            raise OSError("out of patience")
        return self.n < other.n


@pytest.fixture
def patient():
    Moody.patience = 10**9
    yield
    Moody.patience = 10**9


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("patience", range(30))
@pytest.mark.parametrize(
    "write",
    [lambda tree: tree.setdefault(Moody(15), 0), lambda tree: tree.pop(Moody(14))],
)
def test_a_comparison_that_fails_at_any_moment_leaves_a_sound_tree(kind, write, patience):
    tree = kind([(Moody(n), n) for n in range(0, 40, 2)], leaf_width=2, inner_width=2)
    Moody.patience = patience
    failed = attempt(write, tree)
    Moody.patience = 10**9
    tree.check()
    assert failed == (len(tree) == 20)


def attempt(write, tree):
    try:
        write(tree)
    except OSError:
        return True
    return False


def test_an_augmented_tree_without_its_functions_says_so():
    with pytest.raises(NotImplementedError):
        AugmentedMap({1: 1}).summary()
