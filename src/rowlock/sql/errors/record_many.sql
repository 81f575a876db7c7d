insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, keep_until)
select :list, r.key, r.attempt, {now}, :holder, r.kind, r.message, r.shape, {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json)) as r (key text, attempt integer, kind text, message text, shape text)
