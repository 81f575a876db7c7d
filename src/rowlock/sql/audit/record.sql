-- In the transaction of the write itself: both land or neither.
insert into rowlock_audit (at, who, token, verb, list, count, details, request, keep_until)
values ({now}, :who, :token, :verb, :list, :count, :details, :request, {now} + cast(:keep as bigint))
