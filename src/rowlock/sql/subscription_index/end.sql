-- Marks entries as removed; records that were published before still find them.
update rowlock_filings f set gone = :moment
from json_to_recordset(:rows::json) as given (key bigint, sort bigint, subscription bigint, part bigint)
where f.key = given.key and f.sort = given.sort and f.subscription = given.subscription and f.part = given.part
    and f.gone is null
