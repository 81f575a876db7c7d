-- So many more items were claimed just now.
insert into rowlock_handouts (list, slot, items) values (:list, {now} - {now} {modulo} :width, :items)
on conflict (list, slot) do update set items = rowlock_handouts.items + excluded.items
