-- What was added since the last time; lists are read by other functions here.
update chat_chats set messages_count = messages_count + json_extract(given.value, '$[1]')
from json_each(:rows) as given where chat_chats.id = json_extract(given.value, '$[0]')
