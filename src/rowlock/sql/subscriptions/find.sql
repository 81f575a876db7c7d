-- Which subscriptions exist already. Lateral with an offset, so that each is looked up by its index.
select given.subscriber, given.digest, found.id
from json_to_recordset(:rows::json) as given (subscriber text, digest text)
cross join lateral (
    select s.id from rowlock_subscriptions s
    where s.topic = :topic and s.subscriber = given.subscriber and s.digest = given.digest and s.gone is null
    offset 0
) as found
