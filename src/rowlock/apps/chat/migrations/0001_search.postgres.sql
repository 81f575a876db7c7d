create extension if not exists pg_trgm;
create extension if not exists btree_gin;
create index if not exists chat_messages_search on chat_messages using gin (chat, folded gin_trgm_ops);
