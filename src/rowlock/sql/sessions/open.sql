-- A live worker; its claims hang on this row.
insert into rowlock_sessions (id, holder, opened_at, expires_at, details, seeks)
values (:session, :holder, {now}, {now} + cast(:expiry as bigint), :details, :seeks)
