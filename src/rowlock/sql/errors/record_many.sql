-- Failed attempts of one settlement; only those that were raised have a traceback.
insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, traceback, keep_until)
select :list, r.key, r.attempt, {now}, :holder, r.kind, r.message, r.shape, r.traceback,
    {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json)) as r (
    key text, attempt integer, kind text, message text, shape text, traceback text
)
