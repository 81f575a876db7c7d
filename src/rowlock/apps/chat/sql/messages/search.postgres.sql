-- By the index, if there is one and it is worth it; else it looks at every message of the chat.
select number, body from chat_messages
where chat = :chat and number > :after
    and folded like '%%' || replace(replace(replace(:text, '\', '\\'), '%%', '\%%'), '_', '\_') || '%%'
order by number limit :limit
