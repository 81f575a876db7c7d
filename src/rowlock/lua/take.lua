-- Takes so many numbers of the block, if it is the caller's and was put here in this life.
local known, count, seen = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if epoch == '' then return {'empty', life, epoch} end
if owner ~= life then return {'moved', life, epoch} end
if epoch ~= known then return {'other', life, epoch} end
-- The caller has had numbers beyond this already: somebody has put back what was here before.
if used < seen then return {'back', life, epoch} end
if used + count > size then return {'spent', life, epoch} end
write(used + count)
return {'taken', low, used}
