-- Records in the order given. Of two records that would be the first of a key, the second is left out.
insert into rowlock_records (topic, key, subject, data, moment, published_at)
select :topic, given.value ->> 'key', cast(given.value ->> 'subject' as bigint), given.value ->> 'data', :moment, {now}
from json_array_elements(:rows::json) with ordinality as given (value, place) order by given.place
on conflict (topic, key) where subject is null do nothing
returning id, key, subject
