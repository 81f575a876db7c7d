-- Those that are new, in order, so that two who add the same ones do not deadlock.
insert into chat_messages (chat, number, version, body, folded)
select (given.value ->> 0)::bigint, (given.value ->> 1)::bigint, (given.value ->> 2)::bigint,
    given.value ->> 3, given.value ->> 4
from json_array_elements(:rows::json) as given (value)
order by 1, 2
on conflict (chat, number) do nothing returning chat, number
