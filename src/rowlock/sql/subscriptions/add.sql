-- New subscriptions, in the order of their unique index, so that two batches never deadlock.
insert into rowlock_subscriptions (topic, subscriber, digest, predicates, filed, born, changed, created_at)
select :topic, given.subscriber, given.digest, given.predicates, given.filed, :moment, :moment, {now}
from json_to_recordset(:rows::json) as given (subscriber text, digest text, predicates text, filed text)
order by given.subscriber collate "C", given.digest collate "C"
on conflict (topic, subscriber, digest) where gone is null do nothing
returning subscriber, digest, id
