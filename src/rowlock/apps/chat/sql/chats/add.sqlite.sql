-- A number that is taken already, which no counter gives, adds nothing; lists are read by other functions here.
insert into chat_chats (application, number)
select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(:rows) where true
on conflict (application, number) do nothing returning number
