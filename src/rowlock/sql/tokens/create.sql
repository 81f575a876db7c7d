-- A new token by its digest; it expires at a time, or after a delay from the database's now, or never.
insert into rowlock_tokens (digest, shown, label, role, lists, created_at, expires_at)
values (:digest, :shown, :label, :role, :lists, {now}, coalesce(cast(:moment as bigint), {now} + cast(:delay as bigint)))
returning id
