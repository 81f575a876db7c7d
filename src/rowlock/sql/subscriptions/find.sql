-- Which of these are subscribed to already; each looked up by itself, whatever the planner believes of their number.
select given.subscriber, given.digest, found.id
from json_to_recordset(:rows::json) as given (subscriber text, digest text)
cross join lateral (
    select s.id from rowlock_subscriptions s
    where s.topic = :topic and s.subscriber = given.subscriber and s.digest = given.digest and s.gone is null
    offset 0
) as found
