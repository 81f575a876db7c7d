-- Number of entries under each key, counted only up to a limit: a crowded key may have millions.
select given.key, (
    select count(*) from (
        select 1 from rowlock_filings f where f.key = given.key and f.sort = 0 and f.gone is null limit :enough
    ) as few
)
from unnest(cast(translate(:keys, '[]', '{}') as bigint[])) as given (key)
