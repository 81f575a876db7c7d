-- Looks at every message of the chat: for what is too short for the index, or where no index exists.
select number, body from chat_messages
where chat = :chat and number > :after and instr(folded, :text) > 0 order by number limit :limit
