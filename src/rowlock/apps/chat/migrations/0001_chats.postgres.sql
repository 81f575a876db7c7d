create table chat_applications (
    id bigint generated always as identity primary key,
    token text collate "C" not null unique,
    name text not null,
    chats_count bigint not null default 0
);
create table chat_chats (
    id bigint generated always as identity primary key,
    application bigint not null references chat_applications (id),
    number bigint not null,
    messages_count bigint not null default 0,
    unique (application, number)
);
create table chat_messages (
    chat bigint not null references chat_chats (id),
    number bigint not null,
    version bigint not null,
    body text not null,
    folded text collate "C" not null,
    primary key (chat, number)
);
create table chat_additions (
    id bigint generated always as identity primary key,
    application bigint,
    chat bigint,
    count bigint not null
);
create table chat_refreshed (
    one integer primary key check (one = 1),
    at bigint not null
);
insert into chat_refreshed (one, at) values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint);
