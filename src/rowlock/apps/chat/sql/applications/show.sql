select a.name, a.token, a.chats_count, r.at from chat_applications as a, chat_refreshed as r where a.token = :token
