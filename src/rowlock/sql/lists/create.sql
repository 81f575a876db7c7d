-- A list is created by the first transaction that needs it; a second one finds it.
insert into rowlock_lists (name) values (:name) on conflict (name) do nothing
