-- Beside the rows that it counts, and with them: nobody waits for a count; lists are read by other functions here.
insert into chat_additions (application, chat, count)
select json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') from json_each(:rows)
