-- Puts a new block in the place of the one that the caller saw, in the life that it saw: so it is never put twice.
if life ~= ARGV[1] or epoch ~= ARGV[2] then return {'late', life, epoch} end
epoch, owner, low, size = ARGV[3], life, ARGV[4], tonumber(ARGV[5])
write(tonumber(ARGV[6]))
return {'put', life, epoch}
