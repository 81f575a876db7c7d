-- Marks notifications as delivered.
update rowlock_notifications set delivered_at = {now}
where subject = :subject and delivered_at is null and subscriber {among_keys}
