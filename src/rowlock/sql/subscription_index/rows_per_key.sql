-- How many lie under each key, but never more than it takes to know that it is full.
select given.key, (
    select count(*) from (
        select 1 from rowlock_filings f where f.key = given.key and f.sort = 0 and f.gone is null limit :enough
    ) as few
)
from unnest(cast(translate(:keys, '[]', '{}') as bigint[])) as given (key)
