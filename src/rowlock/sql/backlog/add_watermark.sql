-- How far the sequence has got by now; nothing is written if it has not moved.
insert into rowlock_marks (position, at)
select last_value, {now} from rowlock_positions where is_called
on conflict (position) do nothing
