-- Records that have no open notifications.
update rowlock_records set finished_at = {now}, matched_at = coalesce(matched_at, {now}), cursor = null
where id in ({ids})
