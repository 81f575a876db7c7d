-- There are no notifications here. What a session had in hand is free again: somebody should look.
update rowlock_lists set wake_at = {now}
where id in (select c.list from rowlock_claims c where c.session = :session)
    and (wake_at is null or wake_at > {now})
