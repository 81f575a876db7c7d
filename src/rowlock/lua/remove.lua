-- What is left of the block is not handed out any more.
if state then redis.call('del', KEYS[1]) end
return {'gone', life, epoch}
