-- A list is made by whoever needs it first; the second finds it there.
insert into rowlock_lists (name) values (:name) on conflict (name) do nothing
