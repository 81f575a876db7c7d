-- Many processes notice a new epoch: one of them enters it.
insert into rowlock_epochs (server, timeline, tables, entered_at, lossy)
values (:server, :timeline, :tables, {now}, :lossy)
on conflict (server, timeline, tables) do nothing
