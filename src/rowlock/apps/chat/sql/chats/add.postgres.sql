-- A number that is taken already, which no counter gives, adds nothing.
insert into chat_chats (application, number)
select (given.value ->> 0)::bigint, (given.value ->> 1)::bigint from json_array_elements(:rows::json) as given (value)
on conflict (application, number) do nothing returning number
