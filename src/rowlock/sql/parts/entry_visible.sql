-- Whether an entry f existed when the record was committed: entries that were added later are hidden, those removed later are
-- not. Most entries are older than p.first_later and need no look at their place.
(f.born < p.first_later or coalesce((select m.seq from rowlock_moments m where m.id = f.born), 0) <= :seq)
and (f.gone is null or coalesce((select m.seq from rowlock_moments m where m.id = f.gone), 0) > :seq)
