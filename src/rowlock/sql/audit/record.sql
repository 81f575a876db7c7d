-- In the transaction of the change itself: both commit or neither.
insert into rowlock_audit (at, who, token, verb, list, count, details, request, keep_until)
values ({now}, :who, :token, :verb, :list, :count, :details, :request, {now} + cast(:keep as bigint))
