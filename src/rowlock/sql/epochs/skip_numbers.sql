-- Redis may hand out numbers of a block whose reservation was lost: the next block begins far above it.
update rowlock_counters set value = value + :step, epoch = null
where epoch is not null and value <= 9223372036854775807 - :step
