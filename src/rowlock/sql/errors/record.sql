insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, keep_until)
values (:list, :key, :attempt, {now}, :holder, :kind, :message, :shape, {now} + cast(:keep as bigint))
