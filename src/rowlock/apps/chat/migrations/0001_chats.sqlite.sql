create table chat_applications (
    id integer primary key,
    token text not null unique,
    name text not null,
    chats_count integer not null default 0
);
create table chat_chats (
    id integer primary key,
    application integer not null references chat_applications (id),
    number integer not null,
    messages_count integer not null default 0,
    unique (application, number)
);
create table chat_messages (
    id integer primary key,
    chat integer not null references chat_chats (id),
    number integer not null,
    version integer not null,
    body text not null,
    folded text not null,
    unique (chat, number)
);
create table chat_additions (
    id integer primary key,
    application integer,
    chat integer,
    count integer not null
);
create table chat_refreshed (
    one integer primary key check (one = 1),
    at integer not null
);
insert into chat_refreshed (one, at) values (1, cast(round((julianday('now') - 2440587.5) * 86400000) as integer));
