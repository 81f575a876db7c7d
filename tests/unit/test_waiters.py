"""Waiters of a group commit: every answer is delivered."""

import asyncio
import sys
import threading

from rowlock.group_commit.calls import LoopMailbox, LoopWaiter

ROUNDS = 300


async def answered_by_two_threads(mailbox: LoopMailbox) -> list[int]:
    futures = [asyncio.get_running_loop().create_future() for _ in range(2)]
    barrier = threading.Barrier(2)

    def resolve(number: int) -> None:
        barrier.wait()
        LoopWaiter(mailbox, futures[number]).resolve(number)

    threads = [threading.Thread(target=resolve, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    answers = await asyncio.wait_for(asyncio.gather(*futures), 60)
    for thread in threads:
        thread.join()
    return answers


async def answered_in_rounds() -> list[list[int]]:
    mailbox = LoopMailbox()
    return [await answered_by_two_threads(mailbox) for _ in range(ROUNDS)]


def test_answers_of_two_threads_at_the_same_moment_are_both_delivered() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        answers = asyncio.run(answered_in_rounds())
    finally:
        sys.setswitchinterval(interval)
    assert answers == [[0, 1]] * ROUNDS
