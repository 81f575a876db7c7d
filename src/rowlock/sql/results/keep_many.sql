-- Where the list keeps results: what became of done items.
insert into rowlock_results (list, key, data, attempts, settled_at, keep_until)
select :list, r.key, r.data, r.attempts, {now}, {now} + cast(:keep as bigint)
from json_to_recordset(cast(:rows as json)) as r (key text, data text, attempts integer)
