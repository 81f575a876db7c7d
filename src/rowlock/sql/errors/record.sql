insert into rowlock_errors (list, key, attempt, at, holder, kind, message)
values (:list, :key, :attempt, {now}, :holder, :kind, :message)
