insert into rowlock_errors (list, key, attempt, at, holder, kind, message, keep_until)
values (:list, :key, :attempt, {now}, :holder, :kind, :message, {now} + cast(:keep as bigint))
