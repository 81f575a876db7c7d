-- A live worker; its claims depend on this row.
insert into rowlock_sessions (id, holder, opened_at, expires_at, expiry, details, seeks)
values (:session, :holder, {now}, {now} + cast(:expiry as bigint), cast(:length as bigint), :details, :seeks)
