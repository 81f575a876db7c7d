-- What was added since the last time.
update chat_applications set chats_count = chats_count + (given.value ->> 1)::bigint
from json_array_elements(:rows::json) as given (value) where id = (given.value ->> 0)::bigint
