-- Several at once, each by the index.
select token, id from chat_applications where token = any (array(select json_array_elements_text(:tokens::json)))
