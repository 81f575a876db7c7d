"""The pages of sessions and claims, schedules, topics, counters and the system."""

from typing import Any

from rowlock.dashboard.frame import PageRequest, Redirect, View
from rowlock.errors import Invalid
from rowlock.names import plural
from rowlock.sessions import ClaimInfo
from rowlock.topics.overview import TopicOverview

MAX_SESSIONS, MAX_CLAIMS, MAX_NAMES = 200, 200, 500
DRAWN_WIDTH = 1_000
"""The width of a list that claims are drawn on."""
TICKS_SHOWN, ROWS_OF_A_TOPIC, AUDIT_ROWS = 10, 50, 50
SCHEDULE_NOTICES = {
    "pause": "Paused: it does not tick.",
    "resume": "Resumed.",
    "trigger": "Triggered: an item was added.",
}


async def show_sessions(page: PageRequest) -> View:
    """Show live sessions and their claims."""
    sessions = (await page.call("sessions.page", query={"count": MAX_SESSIONS})).sessions
    claims = (await page.call("claims.page", query={"count": MAX_CLAIMS})).claims
    document = {"sessions": sessions, "claims": claims}
    more = {"bars": [_bar(each) for each in claims], "limit": MAX_SESSIONS}
    return View(template="sessions.html", title="Sessions", document=document, more=more, rows=sessions)


def _bar(claim: ClaimInfo) -> dict[str, Any]:
    """Return where a claim is drawn on the line of its gate and priority."""
    first = min(claim.low + 1, claim.first or claim.high)
    last = max(claim.high, claim.last or claim.high)
    scale = DRAWN_WIDTH / (last - first + 1)
    return {"x": round((claim.low + 1 - first) * scale, 1), "width": max(4, round((claim.high - claim.low) * scale, 1))}


async def end_session(page: PageRequest) -> Redirect:
    """End a session: what it holds is free at once."""
    closed = (await page.call("sessions.close", page.field("session"))).closed
    notice = "The session has ended: its items are free." if closed else "The session had ended already."
    return page.redirect(page.url("sessions"), notice)


async def show_schedules(page: PageRequest) -> View:
    """Show all schedules."""
    schedules = (await page.call("schedules.page", query={"count": MAX_NAMES})).schedules
    return View(template="schedules.html", title="Schedules", document={"schedules": schedules}, rows=schedules)


async def show_schedule(page: PageRequest) -> View:
    """Show a schedule with its next and its last ticks."""
    name = page.parameters["schedule"]
    schedule = await page.call("schedules.show", name)
    coming = (await page.call("schedules.upcoming", name, query={"count": TICKS_SHOWN})).ticks
    past = (await page.call("schedules.history", name, query={"count": 100})).ticks
    document = {"schedule": schedule, "coming": coming, "history": past}
    return View(template="schedule.html", title=name, document=document, rows=past)


async def act_on_schedule(page: PageRequest) -> Redirect:
    """Pause, resume or trigger a schedule."""
    name, action = page.parameters["schedule"], page.field("action")
    if action not in SCHEDULE_NOTICES:
        raise Invalid(f"action must be one of {', '.join(SCHEDULE_NOTICES)}, got {action!r}")
    await page.call(f"schedules.{action}", name)
    return page.redirect(page.url("schedules", name), SCHEDULE_NOTICES[action])


async def show_topics(page: PageRequest) -> View:
    """Show all topics."""
    topics = (await page.call("topics.page", query={"count": MAX_NAMES})).topics
    return View(template="topics.html", title="Topics", document={"topics": topics}, rows=topics)


async def show_topic(page: PageRequest) -> View:
    """Show a topic: its subscriptions, and notifications that were not delivered with the predicates that matched."""
    name = page.parameters["topic"]
    found: TopicOverview = await page.call("topics.overview", name, query={"count": ROWS_OF_A_TOPIC})
    document = {field: getattr(found, field) for field in found.__struct_fields__}
    more = {"limit": ROWS_OF_A_TOPIC}
    return View(template="topic.html", title=name, document=document, more=more, rows=found.undelivered)


async def retry_deliveries(page: PageRequest) -> Redirect:
    """Retry all failed deliveries of a topic."""
    name = page.parameters["topic"]
    count = (await page.call("records.retry", name)).retried
    return page.redirect(page.url("topics", name), f"Retried {plural(count, 'delivery')}.")


async def show_counters(page: PageRequest) -> View:
    """Show all counters."""
    counters = (await page.call("counters.page", query={"count": MAX_NAMES})).counters
    return View(template="counters.html", title="Counters", document={"counters": counters}, rows=counters)


async def show_system(page: PageRequest) -> View:
    """Show what `rowlock doctor` finds, how large tables are, and to admins tokens and the audit."""
    document: dict[str, Any] = {"system": None, "configuration": [], "tokens": [], "audit": []}
    if page.may("system.show"):
        document["system"] = await page.call("system.show")
        shown = [{"name": each.name, "value": each.shown, "origin": each.origin} for each in page.configuration]
        document["configuration"] = shown
    if page.may("tokens.page"):
        document["tokens"] = (await page.call("tokens.page", query={"count": 200})).tokens
        document["audit"] = (await page.call("tokens.audit", query={"count": AUDIT_ROWS})).records
    findings = document["system"].findings if document["system"] else ()
    return View(template="system.html", title="System", document=document, rows=findings)
