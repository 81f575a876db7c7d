"""Problems of applications, in the form of the service: one document for everything that can be wrong."""

import msgspec
from starlette.responses import Response

from rowlock.engine import Engine
from rowlock.errors import RowlockError
from rowlock.http import problems


def answer(error: RowlockError, engine: Engine) -> Response:
    """The answer that tells an error as RFC 9457 says; it names no place where the database is."""
    shown = problems.without_address(error, engine)
    headers = {name.decode(): value.decode() for name, value in problems.headers(shown)}
    body = msgspec.json.encode(problems.problem(shown))
    return Response(body, shown.http_status, headers, problems.TYPE.decode())
