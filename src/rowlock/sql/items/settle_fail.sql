-- Given up: kept for somebody to look at, out of every claim's way.
update rowlock_items as i
set attempts = i.attempts + 1, failed_at = {now}, version = i.version + 1
where {parts/at_positions}
