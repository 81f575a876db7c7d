update chat_applications set name = :name where token = :token returning id
