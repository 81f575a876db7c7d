-- Whether a filing f was there at the record's moment: what was born later is not found, what went later still is.
(
    f.born < (select later.first from later)
    or not exists (select 1 from rowlock_moments m where m.id = f.born and m.seq > (select later.seq from later))
)
and (
    f.gone is null
    or exists (select 1 from rowlock_moments m where m.id = f.gone and m.seq > (select later.seq from later))
)
