-- Several at once; lists are read by other functions here.
select token, id from chat_applications where token in (select value from json_each(:tokens))
