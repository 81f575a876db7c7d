-- All who shall be told of these have been, or nobody will be.
update rowlock_records set finished_at = {now}, matched_at = coalesce(matched_at, {now}), cursor = null
where id in ({ids})
