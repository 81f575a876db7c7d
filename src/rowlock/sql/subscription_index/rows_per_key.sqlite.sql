-- SQLite: `json_each` instead of an array.
select given.value, (
    select count(*) from (
        select 1 from rowlock_filings f where f.key = given.value and f.sort = 0 and f.gone is null limit :enough
    )
)
from json_each(:keys) as given
