-- SQLite: the condition keeps the conflict clause from being parsed as a join.
insert into rowlock_waiters (list, key, awaited)
select :list, k.value, :awaited from json_each(:keys) as k where true
on conflict (list, key) do update set awaited = excluded.awaited
