-- The W3C traceparent under which an item was added, if there was one.
alter table rowlock_items add column trace text;
