-- Whether there ever was a token: the newest is never deleted, so that a closed service does not open by itself.
select id from rowlock_tokens order by id desc limit 1
