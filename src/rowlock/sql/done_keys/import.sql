-- Keys that another database remembered as done; one that is remembered here keeps its time.
insert into rowlock_done_keys (list, key, at)
select :list, r.key, r.at from json_to_recordset(cast(:rows as json)) as r (key text, at bigint) order by r.key
on conflict (list, key) do update set at = excluded.at where rowlock_done_keys.at is null
