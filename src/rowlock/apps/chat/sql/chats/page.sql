select c.number, c.messages_count, r.at from chat_chats as c, chat_refreshed as r
where c.application = :application and c.number > :after order by c.number limit :limit
