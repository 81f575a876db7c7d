-- SQLite: the file as a whole.
select 'file' as name, c.page_count * s.page_size as bytes from pragma_page_count() as c, pragma_page_size() as s
