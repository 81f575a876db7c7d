select number, body, version from chat_messages where chat = :chat and number > :after order by number limit :limit
