-- There are no notifications here: whoever waits looks again now and then.
select null
