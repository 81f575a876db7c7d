-- Back in line, at its end, with a clean count; the errors remember.
update rowlock_items
set failed_at = null, due = null, attempts = 0, position = nextval('rowlock_positions'), version = version + 1
where list = :list and key in (select given.key from {keys}) and (failed_at is not null or due is not null)
