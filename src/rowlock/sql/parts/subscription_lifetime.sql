-- From which to which place in the commit order a subscription s exists.
coalesce((select m.seq from rowlock_moments m where m.id = s.born), 0),
case when s.gone is null then 9223372036854775807
    else coalesce((select m.seq from rowlock_moments m where m.id = s.gone), 0) end
