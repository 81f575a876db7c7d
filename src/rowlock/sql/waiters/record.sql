-- Items of a list wait for another list, instead of the one that they waited for before.
insert into rowlock_waiters (list, key, awaited)
select :list, k.key, :awaited from json_array_elements_text(cast(:keys as json)) as k (key)
on conflict (list, key) do update set awaited = excluded.awaited
