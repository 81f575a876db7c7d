-- At most one write a minute for each token, however often it is used.
update rowlock_tokens set last_used_at = {now}
where id in ({ids}) and coalesce(last_used_at < {now} - 60000, 1 = 1)
