-- Three letters that stand for the chat, and the text: both are looked up, so no other chat's messages are read.
-- A cross join keeps its order: the index is asked once, not once for each message of the chat.
select m.number, m.body
from chat_search as s cross join chat_messages as m
where s.chat_search match
        'place : "'
        || char(19968 + :chat % 20000, 19968 + :chat / 20000 % 20000, 19968 + :chat / 400000000 % 20000)
        || '" AND folded : "' || replace(:text, '"', '""') || '"'
    and m.id = s.rowid and m.number > :after
order by m.number limit :limit
