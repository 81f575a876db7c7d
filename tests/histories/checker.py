"""The checker of histories: what was asked of an engine, and how it was answered, must fit the promises.

Tokens, positions and numbers are the order of versions, so every check sorts and compares; none searches. What nobody
can know (a call without an answer) is forgiven either way.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise

import msgspec
from tests.histories.delays import handed_out_early
from tests.histories.reading import Deed, Event, Span, deeds, keys_added, numbers
from tests.histories.turns import CLAIMS, Handed, Settled, handed_out, settlements_of

BY_HAND = ("items.done", "items.abandon", "items.retry", "items.increment", "items.save")
REMOVALS = ("items.done", "items.abandon")
DEFAULT_EXPIRY = 15_000
RECEIPT_SECONDS = 500.0
"""How long a repeated settlement is certainly answered as before."""


class State(msgspec.Struct, frozen=True):
    """What the database holds at the end of a history; None where it was not read."""

    present: int | None = None
    keys: set[str] | None = None
    progress: dict[str, int] | None = None
    counters: dict[str, int] | None = None
    steady_clock: bool = False
    """Whether the database's clock was never set: then no item may come before its time."""


class Checker:
    """A history, sorted by what it is about."""

    def __init__(self, events: Iterable[Event], state: State) -> None:
        self.state = state
        self.deeds = deeds(events)
        self.handed = [each for deed in self.deeds for each in handed_out(deed)]
        self.settled = [each for deed in self.deeds for each in settlements_of(deed)]
        self.holders: dict[int, list[Handed]] = defaultdict(list)
        for claim in self.handed:
            for position in claim.items:
                self.holders[position].append(claim)
        self.of_token: dict[str, list[Settled]] = defaultdict(list)
        for settlement in self.settled:
            self.of_token[settlement.token].append(settlement)
        self.keys = {position: item.get("key") for each in self.handed for position, item in each.items.items()}
        self.beats = self._beats()
        self.exclusive = any(claim.exclusive for claim in self.handed)

    def wrong(self) -> list[str]:
        """Return what breaks a promise, one sentence each."""
        checks = (
            self.tokens,
            self.answers,
            self.repeats,
            self.one_settlement,
            self.fence,
            self.live_work,
            self.dead_sessions,
            self.exclusive_lists,
            self.limits,
            self.attempts,
            self.gates,
            self.delays,
            self.dense_numbers,
            self.lost_items,
            self.tallies,
        )
        return [sentence for check in checks for sentence in check()]

    def tokens(self) -> Iterator[str]:
        """A token never comes twice."""
        times = Counter(claim.token for claim in self.handed)
        return (f"the token {token} came twice" for token, count in times.items() if count > 1)

    def answers(self) -> Iterator[str]:
        """A settlement is of what its claim had, and asked again it is answered as before."""
        had: dict[str, set[int]] = defaultdict(set)
        for claim in self.handed:
            had[claim.token].update(claim.items)
        before: dict[tuple[str, int], str] = {}
        for settlement in self.settled:
            for position, verdict in settlement.verdicts.items():
                if verdict is not None and position not in had[settlement.token]:
                    yield f"position {position} was settled under {settlement.token}, which never had it"
                if verdict is None or verdict == "gone":
                    continue
                first = before.setdefault((settlement.token, position), verdict)
                if first != verdict:
                    yield f"position {position} was answered with {first} and then with {verdict}"

    def repeats(self) -> Iterator[str]:
        """A settlement that has landed is answered when it is asked for again, and not refused."""
        landed: list[Deed] = []
        for deed in self.deeds:
            if deed.verb != "settlements.settle":
                continue
            if deed.code == "stale-claim" and any(
                each.span.before(deed.span)
                and deed.span.began_at - each.span.ended_at < RECEIPT_SECONDS
                and each.args == deed.args
                and not self._may_be_folded(each.span, deed.span)
                for each in landed
            ):
                yield f"the settlement of {deed.args[1]} was refused after it had landed"
            landed += [deed] if deed.span.landed else []

    def _may_be_folded(self, since: Span, upto: Span) -> bool:
        """Whether upkeep may have folded a receipt: the clock of the database may have jumped past its time."""
        return any(
            deed.verb == "upkeep.run_pass"
            and since.overlaps_or_precedes(deed.span)
            and deed.span.overlaps_or_precedes(upto)
            and (deed.answer is None or deed.answer["folded"])
            for deed in self.deeds
        )

    def one_settlement(self) -> Iterator[str]:
        """An item is settled under one claim for each turn, and not handed out after that."""
        tokens: dict[int, set[str]] = defaultdict(set)
        landed: dict[int, Settled] = {}
        for settlement in self.settled:
            for position, verdict in settlement.verdicts.items():
                if verdict in (None, "gone") or (verdict == "retried" and self.exclusive):
                    continue
                tokens[position].add(settlement.token)
                landed.setdefault(position, settlement)
        for position, several in tokens.items():
            if len(several) > 1:
                yield f"position {position} was done {len(several)} times"
            for claim in self.holders[position]:
                if landed[position].span.before(claim.span):
                    yield f"position {position} was handed out under {claim.token} after it was settled"

    def fence(self) -> Iterator[str]:
        """Nothing lands under a claim after another claim has its item."""
        seen: set[tuple[str, int]] = set()
        for settlement in self.settled:
            for position, verdict in settlement.verdicts.items():
                is_first = (settlement.token, position) not in seen
                seen.add((settlement.token, position))
                if not is_first or verdict in (None, "gone"):
                    continue
                own = [each for each in self.holders[position] if each.token == settlement.token]
                for other in self.holders[position]:
                    if own and own[0].span.before(other.span) and other.span.before(settlement.span):
                        yield f"position {position} was settled under {settlement.token} after {other.token} had it"

    def live_work(self) -> Iterator[str]:
        """What a session that beats has in hand is not given to another claim."""
        for position, claims in self.holders.items():
            for first, second in pairwise(claims):
                if first.span.before(second.span) and self._is_live(first, second):
                    yield f"position {position} of the live claim {first.token} was given to {second.token}"

    def dead_sessions(self) -> Iterator[str]:
        """A session that was found to have ended does not live again."""
        ended: dict[str, Span] = {}
        for deed in self.deeds:
            if deed.verb == "sessions.beat" and deed.answer is True and deed.args[0] in ended:
                if ended[deed.args[0]].before(deed.span):
                    yield f"the session {deed.args[0]} was told that it lives after it had ended"
            elif deed.verb == "sessions.beat" and deed.answer is False:
                ended.setdefault(deed.args[0], deed.span)
            elif deed.verb in CLAIMS and deed.code == "stale-session":
                ended.setdefault(deed.args[0]["session"], deed.span)

    def exclusive_lists(self) -> Iterator[str]:
        """Of an exclusive list one session at a time has items in hand."""
        exclusive = [claim for claim in self.handed if claim.exclusive]
        for first, second in combinations(exclusive, 2):
            same = first.list == second.list and first.session != second.session
            if same and first.span.before(second.span) and self._is_live(first, second):
                yield f"{second.token} was given of the exclusive list {first.list!r} while {first.token} was live"

    def limits(self) -> Iterator[str]:
        """No more items are in hand than the list's limit says."""
        bounds = {
            deed.args[0]: deed.args[1]["concurrency"]
            for deed in self.deeds
            if deed.verb == "lists.change_settings" and deed.span.landed and deed.args[1].get("concurrency")
        }
        for claim in self.handed:
            if claim.list in bounds:
                others = [each for each in self.handed if each.list == claim.list and each.span.before(claim.span)]
                held = sum(len(each.items) for each in others if self._is_live(each, claim)) + len(claim.items)
                if held > bounds[claim.list]:
                    yield f"{held} items of {claim.list!r} were in hand when {claim.token} was made"

    def _is_live(self, claim: Handed, later: Handed) -> bool:
        """Whether a claim is certainly held when a later one is made."""
        if any(self._was_released(claim, later, position) for position in claim.items):
            return False
        beats = [each for each in self.beats[claim.session] if each[0] <= later.span.ended_at]
        last, expiry = max(beats, default=(0.0, 0.0))
        return later.span.ended_at < last + expiry / 2_000

    def _beats(self) -> dict[str, list[tuple[float, float]]]:
        beats: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for deed in self.deeds:
            is_beat = deed.verb in ("sessions.open_session", "sessions.beat") and deed.options.get("beats", True)
            if is_beat and deed.span.landed and deed.answer is not False:
                beats[deed.args[0]].append((deed.span.began_at, deed.options.get("expiry", DEFAULT_EXPIRY)))
        return beats

    def _was_released(self, first: Handed, second: Handed, position: int) -> bool:
        """Whether anything but a death may have freed the item before the second claim."""
        if any(each.span.overlaps_or_precedes(second.span) for each in self.of_token[first.token]):
            return True
        for deed in self.deeds:
            if not (deed.span.may_have_landed and deed.span.overlaps_or_precedes(second.span)):
                continue
            match deed.verb, deed.args:
                case "claims.close", [_, token] if token == first.token:
                    return True
                case "sessions.close", [session] if session == first.session:
                    return True
                case verb, [_, keys, *_] if verb in BY_HAND and self.keys[position] in keys:
                    return True
        return False

    def attempts(self) -> Iterator[str]:
        """Attempts rise with each retry and never fall, unless the item is made ready by hand or moves on."""
        last: dict[tuple[str, str], tuple[int, Handed]] = {}
        for claim in sorted(self.handed, key=lambda each: each.span.ended):
            for item in claim.items.values():
                if "attempts" not in item:
                    continue
                place = claim.list, item["key"]
                before, earlier = last.get(place, (0, claim))
                least = before + self._retries(item["key"], earlier, claim)
                reset = earlier.gate != claim.gate or self._was_reset(item["key"], earlier.span.began, claim.span)
                if item["attempts"] < least and earlier.span.before(claim.span) and not reset:
                    yield f"the attempts of {item['key']!r} are {item['attempts']} and must be {least} or more"
                last[place] = item["attempts"], claim

    def _retries(self, key: str, since: Handed, upto: Handed) -> int:
        """Return how often the item was certainly retried between two claims."""
        return len(
            {
                position
                for each in self.of_token[since.token]
                for position, verdict in each.verdicts.items()
                if verdict == "retried" and self.keys.get(position) == key and each.span.before(upto.span)
                if position not in each.uncounted
            }
        )

    def _was_reset(self, key: str, since: int, upto: Span) -> bool:
        between = [deed for deed in self.deeds if deed.span.ended > since and deed.span.overlaps_or_precedes(upto)]
        return any(
            deed.verb not in CLAIMS
            and ((deed.verb in BY_HAND and key in deed.args[1]) or deed.verb in ("item_search.change", "items.add"))
            for deed in between
        )

    def gates(self) -> Iterator[str]:
        """Nothing is handed out at a gate while something is left before it."""
        for list_name, key, gate, added in self._items_at_gates():
            for claim in self.handed:
                if claim.list not in ("", list_name):
                    continue
                if claim.gate > gate and added.before(claim.span) and not self._may_have_left(key, claim.span):
                    yield f"gate {claim.gate} was open while {key!r} was left at gate {gate}"

    def _items_at_gates(self) -> Iterator[tuple[str, str, int, Span]]:
        for deed in self.deeds:
            if deed.verb == "items.add" and deed.span.landed and deed.answer["added"]:
                for key, gate in keys_added(deed):
                    if gate is not None and deed.answer.get("existing", 0) == 0 == deed.answer.get("done_before", 0):
                        yield deed.args[0], key, gate, deed.span

    def _may_have_left(self, key: str, upto: Span) -> bool:
        settled = (
            any(self.keys.get(position) == key for position in each.verdicts)
            for each in self.settled
            if each.span.may_have_landed and each.span.overlaps_or_precedes(upto)
        )
        return any(settled) or any(
            deed.verb in ("item_search.change", "lists.drop") or (deed.verb in BY_HAND and key in deed.args[1])
            for deed in self.deeds
            if deed.span.may_have_landed and deed.span.overlaps_or_precedes(upto)
        )

    def delays(self) -> Iterator[str]:
        """No item is handed out before it is due."""
        return handed_out_early(self.deeds, self.handed, self.settled) if self.state.steady_clock else iter(())

    def dense_numbers(self) -> Iterator[str]:
        """No number comes twice, later calls get higher ones, and only lost answers leave gaps."""
        taken: dict[str, list[tuple[range, Span]]] = defaultdict(list)
        lost: Counter[str] = Counter()
        for deed in self.deeds:
            if deed.verb == "counters.take" and deed.span.landed:
                taken[deed.args[0]].append((numbers(deed.answer), deed.span))
            elif deed.verb == "counters.take" and deed.span.may_have_landed:
                lost[deed.args[0]] += deed.args[1] if len(deed.args) > 1 else 1
        for name in {*taken, *lost}:
            ordered = sorted(taken[name], key=lambda each: each[0].start)
            for (one, asked), (other, later) in pairwise(ordered):
                if other.start < one.stop:
                    yield f"the counter {name!r} gave {other.start} twice"
                elif later.before(asked):
                    yield f"the counter {name!r} gave {other.start} before {one.start}"
            yield from self._gaps(name, sum(len(each) for each, _ in ordered), lost[name])

    def _gaps(self, name: str, taken: int, lost: int) -> Iterator[str]:
        if self.state.counters is not None:
            value = self.state.counters.get(name, 0)
            if not taken <= value <= taken + lost:
                yield f"the counter {name!r} is at {value}; {taken} numbers were given and {lost} may have been"

    def lost_items(self) -> Iterator[str]:
        """An item that was added is there, or was taken off; one that was done is not there."""
        yield from self._lost_keys()
        added = sum(deed.answer["added"] for deed in self.deeds if deed.verb == "items.add" and deed.span.landed)
        done = {
            each for settlement in self.settled for each, verdict in settlement.verdicts.items() if verdict == "done"
        }
        unknown = [each for each in self.settled if each.span.phase == "unknown"]
        lost = sum(len(each.verdicts) for each in unknown)
        uncertain = any(deed.verb in (*REMOVALS, "item_search.change", "lists.drop") for deed in self.deeds) or any(
            deed.verb == "items.add" and deed.span.phase == "unknown" for deed in self.deeds
        )
        present = self.state.present
        if present is not None and not uncertain and not len(done) <= added - present <= len(done) + lost:
            yield f"of {added} added items {len(done)} were done, {present} are there, {lost} may have been done"

    def _lost_keys(self) -> Iterator[str]:
        if self.state.keys is None:
            return
        removed: set[str] = set()
        done: set[str] = set()
        for settlement in self.settled:
            for position, verdict in settlement.verdicts.items():
                if settlement.span.may_have_landed and verdict in (None, "done") and position in self.keys:
                    removed.add(self.keys[position])
                    done |= {self.keys[position]} if verdict == "done" else set()
        for deed in self.deeds:
            if deed.verb in REMOVALS and deed.span.may_have_landed:
                removed.update(deed.args[1])
        added = [
            key for deed in self.deeds if deed.verb == "items.add" and deed.span.landed for key, _ in keys_added(deed)
        ]
        yield from (f"the item {key!r} was added and is lost" for key in added if key not in self.state.keys | removed)
        yield from (f"the item {key!r} was done and is there" for key in sorted(done & self.state.keys))

    def tallies(self) -> Iterator[str]:
        """Progress is what was answered, but for what nobody knows."""
        if self.state.progress is None:
            return
        known, unknown = self._removed_by_hand()
        adds = [deed for deed in self.deeds if deed.verb == "items.add"]
        known["added"] = sum(deed.answer["added"] for deed in adds if deed.span.landed)
        unknown["added"] = sum(len(keys_added(deed)) for deed in adds if deed.span.phase == "unknown")
        done = {
            (each.token, position)
            for each in self.settled
            for position, verdict in each.verdicts.items()
            if verdict == "done"
        }
        known["done"] += len(done)
        unknown["done"] += sum(len(each.verdicts) for each in self.settled if each.span.phase == "unknown")
        for event in ("added", "done", "abandoned"):
            told = self.state.progress[event]
            if not known[event] <= told <= known[event] + unknown[event]:
                yield f"the tallies say {told} {event}; {known[event]} were answered and {unknown[event]} may have been"

    def _removed_by_hand(self) -> tuple[Counter[str], Counter[str]]:
        known: Counter[str] = Counter()
        unknown: Counter[str] = Counter()
        for deed in self.deeds:
            if deed.verb in REMOVALS:
                event = "done" if deed.verb == "items.done" else "abandoned"
                known[event] += deed.answer if deed.span.landed else 0
                unknown[event] += len(deed.args[1]) if deed.span.phase == "unknown" else 0
        return known, unknown


def check(events: Iterable[Event], state: State) -> list[str]:
    """Return what in the history breaks a promise, one sentence each."""
    return Checker(events, state).wrong()
