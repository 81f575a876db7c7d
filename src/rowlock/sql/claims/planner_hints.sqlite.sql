-- SQLite: nothing to set; `send_to_server` sends nothing.
select 1
