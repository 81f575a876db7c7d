-- Whether a filing f was there when the record was committed: what was born later is not found, what went later still is.
-- Most were born before anything that p.first_later tells of, and need no second look.
(f.born < p.first_later or coalesce((select m.seq from rowlock_moments m where m.id = f.born), 0) <= :seq)
and (f.gone is null or coalesce((select m.seq from rowlock_moments m where m.id = f.gone), 0) > :seq)
