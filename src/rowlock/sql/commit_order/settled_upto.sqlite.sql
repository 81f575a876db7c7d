-- A number is its own place in the order.
select coalesce(max(id), 0) from rowlock_moments
