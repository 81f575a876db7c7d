-- Several at once, by token and number.
select a.token, c.number, c.id
from json_array_elements(:rows::json) as given (value)
join chat_applications as a on a.token = given.value ->> 0
join chat_chats as c on c.application = a.id and c.number = (given.value ->> 1)::bigint
