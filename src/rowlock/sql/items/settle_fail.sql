-- Given up: kept until it is retried or abandoned, and not handed out.
update rowlock_items as i
set attempts = i.attempts + 1, failed_at = {now}, version = i.version + 1
where {parts/at_positions}
