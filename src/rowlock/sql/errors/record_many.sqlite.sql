-- JSON rows are taken apart differently here.
insert into rowlock_errors (list, key, attempt, at, holder, kind, message, keep_until)
select :list, json_extract(r.value, '$.key'), json_extract(r.value, '$.attempt'), {now}, :holder, json_extract(r.value, '$.kind'), json_extract(r.value, '$.message'),
    {now} + :keep
from json_each(:rows) as r
