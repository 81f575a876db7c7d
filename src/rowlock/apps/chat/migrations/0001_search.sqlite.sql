create view chat_searched as
select id,
    char(19968 + chat % 20000, 19968 + chat / 20000 % 20000, 19968 + chat / 400000000 % 20000) as place,
    folded
from chat_messages;
create virtual table chat_search using fts5 (
    place, folded, content = 'chat_searched', content_rowid = 'id', tokenize = 'trigram case_sensitive 1'
);
insert into chat_search (rowid, place, folded) select id, place, folded from chat_searched;
create trigger chat_message_added after insert on chat_messages begin
    insert into chat_search (rowid, place, folded) select id, place, folded from chat_searched where id = new.id;
end;
create trigger chat_message_changing before update of folded on chat_messages begin
    insert into chat_search (chat_search, rowid, place, folded)
    select 'delete', id, place, folded from chat_searched where id = old.id;
end;
create trigger chat_message_changed after update of folded on chat_messages begin
    insert into chat_search (rowid, place, folded) select id, place, folded from chat_searched where id = new.id;
end;
