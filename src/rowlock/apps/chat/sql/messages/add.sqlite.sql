-- Those that are new; lists are read by other functions here.
insert into chat_messages (chat, number, version, body, folded)
select json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
    json_extract(value, '$[3]'), json_extract(value, '$[4]')
from json_each(:rows) where true
on conflict (chat, number) do nothing returning chat, number
