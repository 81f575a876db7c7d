-- Several at once, by token and number; lists are read by other functions here.
select a.token, c.number, c.id
from json_each(:rows) as given
join chat_applications as a on a.token = json_extract(given.value, '$[0]')
join chat_chats as c on c.application = a.id and c.number = json_extract(given.value, '$[1]')
