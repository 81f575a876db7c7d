select c.number, c.messages_count, r.at from chat_chats as c, chat_refreshed as r where c.id = :chat
