-- Locations of the entries of reindexed subscriptions.
update rowlock_subscriptions s set filed = given.filed, version = s.version + 1
from json_to_recordset(:rows::json) as given (id bigint, filed text) where s.id = given.id
