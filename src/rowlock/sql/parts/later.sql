-- What committed after the record's own moment: the lowest number that did, so that most rows need no second look.
asked as (
    select coalesce((select m.seq from rowlock_moments m where m.id = :moment), 9223372036854775807) as seq
),
later as materialized (
    select asked.seq, coalesce(
        (select min(m.id) from rowlock_moments m where m.seq > asked.seq), 9223372036854775807
    ) as first
    from asked
)
