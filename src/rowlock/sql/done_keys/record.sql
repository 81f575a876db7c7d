-- In the order of the keys. A key that is remembered already is remembered from now on.
insert into rowlock_done_keys (list, key, at)
select :list, given.key, {now} from {keys} where true order by given.key
on conflict (list, key) do update set at = excluded.at
