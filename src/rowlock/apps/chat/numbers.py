"""Numbers of chats and messages that Redis gives, where it is used; else the database gives them."""

from asyncio import to_thread
from collections.abc import Callable
from typing import Any

from rowlock import RedisCounters
from rowlock.apps.chat.chats import Chats


class MessageNumbers:
    """Takes the number of a new chat or message before its transaction."""

    def __init__(self, chats: Chats, redis: RedisCounters | None) -> None:
        self._chats = chats
        self._redis = redis

    async def next_chat(self, token: str) -> int:
        """Return the number of a new chat; 0 if its transaction takes it from the counter."""
        return await self._next(self._chats.counter_of_chats, token)

    async def next_message(self, token: str, chat: int) -> int:
        """Return the number of a new message; 0 if its transaction takes it from the counter."""
        return await self._next(self._chats.counter_of_messages, token, chat)

    async def _next(self, counter_of: Callable[..., str], *named: Any) -> int:
        redis = self._redis
        return 0 if redis is None else await to_thread(lambda: redis.counter(counter_of(*named)).next())
