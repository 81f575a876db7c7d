-- Requests that were answered, so that one asked again is answered again and not done twice.
create table rowlock_requests (
    key text collate "C" primary key,
    fingerprint text not null,
    answer text not null,
    at bigint not null
);
create index rowlock_requests_old on rowlock_requests (at);
