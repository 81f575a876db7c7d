-- Results of done items, on lists that keep results.
insert into rowlock_results (list, key, data, attempts, settled_at, keep_until)
select :list, r.key, r.data, r.attempts, {now}, {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json)) as r (key text, data text, attempts integer)
