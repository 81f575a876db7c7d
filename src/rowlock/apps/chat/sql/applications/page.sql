-- In the order in which they were made, after the one with a token; the first of them all after none.
select a.name, a.token, a.chats_count, r.at
from chat_applications as a, chat_refreshed as r
where a.id > coalesce((select b.id from chat_applications as b where b.token = :after), 0)
order by a.id limit :limit
