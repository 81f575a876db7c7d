-- Three letters that stand for the chat, and the text: both are looked up, so no other chat's messages are read.
select m.number, m.body
from chat_search as s join chat_messages as m on m.id = s.rowid
where s.chat_search match
        'place : "'
        || char(19968 + :chat % 20000, 19968 + :chat / 20000 % 20000, 19968 + :chat / 400000000 % 20000)
        || '" AND folded : "' || replace(:text, '"', '""') || '"'
    and m.chat = :chat and m.number > :after
order by m.number limit :limit
