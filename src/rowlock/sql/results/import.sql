-- Results as another database had them; one that is here already is not added again.
insert into rowlock_results (list, key, data, attempts, settled_at, keep_until)
select :list, r.key, r.data, r.attempts, r.settled_at, {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json)) as r (key text, data text, attempts integer, settled_at bigint)
where not exists (
    select 1 from rowlock_results same where same.list = :list and same.key = r.key and same.settled_at = r.settled_at
)
