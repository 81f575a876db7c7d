-- Which of these are subscribed to already.
select s.subscriber, s.digest, s.id
from json_to_recordset(:rows::json) as given (subscriber text, digest text)
join rowlock_subscriptions s
    on s.topic = :topic and s.subscriber = given.subscriber and s.digest = given.digest and s.gone is null
