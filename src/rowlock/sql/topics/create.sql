-- A topic without fields, unless there is one of that name.
insert into rowlock_topics (name) values (:name) on conflict (name) do nothing
