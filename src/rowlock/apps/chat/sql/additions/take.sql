-- Each is taken once: what is counted and what is taken here commits together.
delete from chat_additions where id in (select id from chat_additions order by id limit :limit)
returning application, chat, count
