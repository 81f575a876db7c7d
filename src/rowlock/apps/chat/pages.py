"""Pages of the chat application: create applications and chats, read and write messages, links to share."""

from asyncio import to_thread
from pathlib import Path

from rowlock.apps.chat.chats import Chats, CreateApplication, MessageNumbers, OpenChat, PostMessage
from rowlock.apps.chat.model import check_body, check_name, check_number, check_token
from rowlock.apps.pages import PageEntry, PageRequest, Redirect, Role, View, once_key
from rowlock.apps.web import check_number as check_query_number

TEMPLATES = Path(__file__).parent / "templates"
APPLICATIONS_PER_PAGE, CHATS_PER_PAGE = 100, 100
NEWEST_MESSAGES, MESSAGES_PER_PAGE = 50, 200
"""How far before the counted end a chat is shown from, and how many messages a page shows at most."""


class ChatPages:
    """The pages of the chats of an engine."""

    def __init__(self, chats: Chats, numbers: MessageNumbers) -> None:
        self._chats = chats
        self._numbers = numbers

    def entries(self) -> tuple[PageEntry, ...]:
        """Return the rows for the table of pages."""
        application, chat = "/chat/{token}", "/chat/{token}/{chat}"
        return (
            PageEntry("/chat", self.applications),
            PageEntry("/chat", self.create, "POST", Role.WORKER, "create", self.applications),
            PageEntry(application, self.application),
            PageEntry(application, self.open, "POST", Role.WORKER),
            PageEntry(chat, self.chat),
            PageEntry(chat, self.post, "POST", Role.WORKER, "post", self.chat),
        )

    async def applications(self, page: PageRequest) -> View:
        """Show all applications, and a form that creates one."""
        after = check_token(page.query["after"]) if page.query.get("after") else ""
        found = await to_thread(self._chats.applications, after=after, limit=APPLICATIONS_PER_PAGE)
        following = found[-1].token if len(found) == APPLICATIONS_PER_PAGE else None
        document = {"applications": found, "next": following}
        return View(template="applications.html", title="Chat", document=document, rows=found, folder=TEMPLATES)

    async def create(self, page: PageRequest) -> Redirect:
        """Create an application."""
        name = check_name(page.field("name"))
        token, _ = await self._chats.create.awaited(CreateApplication(name, once_key(page)))
        return page.redirect(page.url("chat", token), f"Created {name}.")

    async def application(self, page: PageRequest) -> View:
        """Show the chats of an application, and a button that opens one."""
        token, after = check_token(page.parameters["token"]), _after(page)
        application = await to_thread(self._chats.application, token)
        found = await to_thread(self._chats.page, token, after=after, limit=CHATS_PER_PAGE)
        following = found[-1].number if len(found) == CHATS_PER_PAGE else None
        document = {"application": application, "chats": found, "next": following}
        more = {"link": f"{page.base_url}/chat/{token}", "api": f"{page.base_url}/api/v1/applications/{token}"}
        return View(
            template="application.html",
            title=application.name,
            document=document,
            more=more,
            rows=found,
            folder=TEMPLATES,
        )

    async def open(self, page: PageRequest) -> Redirect:
        """Open a chat."""
        token = check_token(page.parameters["token"])
        number = await self._numbers.next_chat(token)
        number, _ = await self._chats.open.awaited(OpenChat(token, number, once_key(page)))
        return page.redirect(page.url("chat", token, str(number)), f"Chat {number} is open.")

    async def chat(self, page: PageRequest) -> View:
        """Show the newest messages of a chat, and a form that posts one."""
        token, number = _chat(page)
        application = await to_thread(self._chats.application, token)
        chat = await to_thread(self._chats.show, token, number)
        newest = max(0, chat.messages_count - NEWEST_MESSAGES)
        after = _after(page) if "after" in page.query else newest
        found = await to_thread(self._chats.read, token, number, after=after, limit=MESSAGES_PER_PAGE)
        messages = [each.shown for each in found]
        following = messages[-1]["number"] if len(messages) == MESSAGES_PER_PAGE else None
        document = {"application": application, "chat": number, "messages": messages, "next": following}
        more = {"link": page.base_url + f"/chat/{token}/{number}", "after": after}
        title = f"Chat {number} of {application.name}"
        return View(template="chat.html", title=title, document=document, more=more, rows=messages, folder=TEMPLATES)

    async def post(self, page: PageRequest) -> Redirect:
        """Post a message."""
        token, chat = _chat(page)
        body = check_body(page.field("body"))
        number = await self._numbers.next_message(token, chat)
        await self._chats.post.awaited(PostMessage(token, chat, body, number, once_key(page)))
        return page.redirect(page.url("chat", token, str(chat)))


def _chat(page: PageRequest) -> tuple[str, int]:
    return check_token(page.parameters["token"]), check_number(page.parameters["chat"], "chat")


def _after(page: PageRequest) -> int:
    return check_query_number(page.query.get("after", "0"), "after")
