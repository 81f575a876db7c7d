-- An older version never replaces a newer one, in whatever order they come; lists are read by other functions here.
update chat_messages set version = json_extract(given.value, '$[2]'), body = json_extract(given.value, '$[3]'),
    folded = json_extract(given.value, '$[4]')
from json_each(:rows) as given
where chat = json_extract(given.value, '$[0]') and number = json_extract(given.value, '$[1]')
    and version < json_extract(given.value, '$[2]')
