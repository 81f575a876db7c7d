-- An older version never replaces a newer one, in whatever order they come.
update chat_messages set version = (given.value ->> 2)::bigint, body = given.value ->> 3, folded = given.value ->> 4
from json_array_elements(:rows::json) as given (value)
where chat = (given.value ->> 0)::bigint and number = (given.value ->> 1)::bigint
    and version < (given.value ->> 2)::bigint
