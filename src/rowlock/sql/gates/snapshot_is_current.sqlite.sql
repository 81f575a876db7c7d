-- The only writer sees all there is.
select true
