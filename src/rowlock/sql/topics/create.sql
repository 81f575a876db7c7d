insert into rowlock_topics (name) values (:name) on conflict (name) do nothing
