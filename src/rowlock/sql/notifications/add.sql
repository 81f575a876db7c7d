-- Notifications, once for each subscriber and subject; returns the new ones.
insert into rowlock_notifications (topic, record, subject, subscriber, subscription, predicates, matched_at)
select :topic, :record, :subject, given.subscriber, given.subscription, given.predicates, {now}
from json_to_recordset(:rows::json) as given (subscriber text, subscription bigint, predicates text)
order by given.subscriber collate "C", given.subscription
on conflict (subscriber, subject) do nothing
returning subscriber, predicates
