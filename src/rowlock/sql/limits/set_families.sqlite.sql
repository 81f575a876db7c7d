-- SQLite: `instr` and `substr` instead of `split_part`.
update rowlock_items
set family = case when :separator is null then null
    when instr(key, :separator) > 0 then substr(key, 1, instr(key, :separator) - 1) else key end
where list = :list
