-- Whether there ever was one: the last is never forgotten, so that a closed house does not open by itself.
select id from rowlock_tokens order by id desc limit 1
