"""The dashboard: pages for people, made on the server from the operations of the HTTP API.

A page is a function of a `PageRequest` that returns a `View`; `PAGES` gives it a path. It reads and changes things
only by `await page.call("lists.show", name)`: operations of the table in `rowlock.api`, run with the caller's token.
So roles, list prefixes, limits and the audit log are those of the API.

To add a page:

1. Write `async def sessions(page: PageRequest) -> View` in a module of its own. A view names the template, the title
   and the document. The document holds the variables of the template, and is the `.json` twin; `rows=` are the lines
   of the `.csv` twin; `more=` are variables that only the template needs.
2. Write `templates/sessions.html`: it extends `base.html`, fills the block `content`, and uses the macros of
   `parts.html`. Give each part that changes by itself an id, and name these parts in `{% block live
   %}#numbers,#table{% endblock %}`: they are replaced at most once a second while something changes. Keep forms
   outside of them.
3. Add a row to `PAGES`, and to `NAVIGATION` if the page belongs there.
4. Add its path to `PAGES` in `tests/dashboard/test_pages.py`, which runs axe-core on it in both themes.

A change is a form with `method="post"`, and a row made by `_form` whose function calls the operation and returns
`page.redirect(page.url("sessions"), "notice")`. The role of the operation is checked before the form is read. Show a
button only if `page.may("lists.pause")`. A form with fields names the page that it stands on by `shown_on`: the page is
shown again if the form is refused. Its template writes `parts.rejection(page, "lists.rename")` above the form, and
`page.value("lists.rename", "name", stored=list.name)` in its fields. Scripts and styles stand in `static/`: the policy
allows no inline script or style. Widths are attributes of SVG, not styles.
"""

from rowlock.dashboard import guide, items, lists, overview, system
from rowlock.dashboard.frame import BY_NAME, PageEntry, PageFunction, ViewFunction

NAVIGATION = (
    ("Overview", ""),
    ("Sessions", "sessions"),
    ("Schedules", "schedules"),
    ("Topics", "topics"),
    ("Counters", "counters"),
    ("System", "system"),
    ("API", "docs"),
    ("Help", "help"),
)
"""Titles and the first segments of their paths."""


def _form(path: str, function: PageFunction, *, operation: str, shown_on: ViewFunction | None = None) -> PageEntry:
    """Return the row of a form that runs an operation; where it is one of several, that of the lowest role."""
    return PageEntry(path, function, "POST", BY_NAME[operation].role, operation, shown_on)


LIST_PATH = "/lists/{list}"
ITEM_PATH = f"{LIST_PATH}/items/{{key}}"
PAGES = (
    PageEntry("/", overview.overview),
    PageEntry("/login", overview.login, role=None),
    PageEntry("/search", guide.search),
    PageEntry("/docs", guide.reference),
    PageEntry("/help", guide.cheat_sheet),
    PageEntry("/sessions", system.show_sessions),
    _form("/sessions", system.end_session, operation="sessions.close"),
    PageEntry("/schedules", system.show_schedules),
    PageEntry("/schedules/{schedule}", system.show_schedule),
    _form("/schedules/{schedule}", system.act_on_schedule, operation="schedules.pause"),
    PageEntry("/topics", system.show_topics),
    PageEntry("/topics/{topic}", system.show_topic),
    _form("/topics/{topic}", system.retry_deliveries, operation="records.retry"),
    PageEntry("/counters", system.show_counters),
    PageEntry("/system", system.show_system),
    _form("/add", lists.add, operation="items.add", shown_on=overview.overview),
    PageEntry(LIST_PATH, lists.show),
    _form(f"{LIST_PATH}/add", lists.add, operation="items.add", shown_on=lists.show),
    _form(f"{LIST_PATH}/act", lists.act, operation="lists.pause"),
    _form(f"{LIST_PATH}/settings", lists.change_settings, operation="lists.change_settings", shown_on=lists.show),
    _form(f"{LIST_PATH}/gate", lists.open_gate, operation="gates.open_gate", shown_on=lists.show),
    _form(f"{LIST_PATH}/rename", lists.rename, operation="lists.rename", shown_on=lists.show),
    PageEntry(f"{LIST_PATH}/drop", lists.ask_to_drop),
    _form(f"{LIST_PATH}/drop", lists.drop, operation="lists.drop", shown_on=lists.ask_to_drop),
    PageEntry(f"{LIST_PATH}/items", items.show, form="items.search", shown_on=items.show),
    _form(f"{LIST_PATH}/items", items.change, operation="items.done_matching", shown_on=items.show),
    PageEntry(f"{LIST_PATH}/failures", items.show_failures),
    PageEntry(ITEM_PATH, items.show_item),
    _form(ITEM_PATH, items.save_item, operation="items.save", shown_on=items.show_item),
)
