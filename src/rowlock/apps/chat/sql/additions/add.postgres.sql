-- Beside the rows that it counts, and with them: nobody waits for a count.
insert into chat_additions (application, chat, count)
select (given.value ->> 0)::bigint, (given.value ->> 1)::bigint, (given.value ->> 2)::bigint
from json_array_elements(:rows::json) as given (value)
