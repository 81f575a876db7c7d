-- Errors as another database had them, the oldest first; they are kept from now on.
insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, keep_until)
select :list, r.key, r.attempt, r.at, r.holder, r.kind, r.message, r.shape, {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json))
    as r (key text, attempt integer, at bigint, holder text, kind text, message text, shape text)
