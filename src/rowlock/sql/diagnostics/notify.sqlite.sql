-- There are no notifications here: whoever waits watches the file.
select null
