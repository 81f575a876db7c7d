-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_done_keys (list, key, at)
select :list, r.value ->> 'key', r.value ->> 'at' from json_each(:rows) as r where true order by 2
on conflict (list, key) do update set at = excluded.at where rowlock_done_keys.at is null
