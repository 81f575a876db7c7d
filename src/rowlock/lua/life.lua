-- One life of a server: from its start, and from when it became a primary, until either comes again. Whatever a copy,
-- an old snapshot or an older replica brings back was written in another one.
local server = redis.call('info', 'server')
local replication = redis.call('info', 'replication')
local run = string.match(server, 'run_id:(%x+)')
local line = string.match(replication, 'master_replid:(%x+)')
if not run or not line then return {'strange'} end
if string.match(server, 'redis_mode:(%a+)') == 'cluster' then return {'cluster'} end
if string.match(replication, 'role:(%a+)') ~= 'master' then return {'replica'} end
local life = run .. ':' .. line

local state = redis.call('get', KEYS[1])
local epoch, owner, low, size, used = '', '', '', 0, 0
if state then
  epoch, owner, low, size, used = string.match(state, '^(%x+) (%S+) (%d+) (%d+) (%d+)$')
  if not epoch then return {'foreign'} end
  size, used = tonumber(size), tonumber(used)
end

-- Numbers of the block are written as text: those above 2^53 would be rounded here. How many are used is small.
local function write(to)
  redis.call('set', KEYS[1], string.format('%s %s %s %d %d', epoch, owner, low, size, to))
end
