-- Coarse: a token that is used all the time is written once a minute, whoever sees it used.
update rowlock_tokens set last_used_at = {now}
where id in ({ids}) and coalesce(last_used_at < {now} - 60000, 1 = 1)
