-- Items of a list wait for another one; what they waited for before is nothing to them any more.
insert into rowlock_waiters (list, key, awaited)
select :list, k.key, :awaited from json_array_elements_text(cast(:keys as json)) as k (key)
on conflict (list, key) do update set awaited = excluded.awaited
