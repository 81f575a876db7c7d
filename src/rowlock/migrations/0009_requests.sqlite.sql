-- Requests that were answered, so that one asked again is answered again and not done twice.
create table rowlock_requests (
    key text primary key,
    fingerprint text not null,
    answer text not null,
    at integer not null
);
create index rowlock_requests_old on rowlock_requests (at);
