-- A page of the history, newest first: the account's own ledger and those of the guests that moved into it, by time.
-- KEYS ledger
-- ARGV cursor, limit
-- Answers page(next cursor, entry …)
--
-- A cursor holds a seq for each ledger, the account's own first, dots between: the entries before it are still to come. A
-- guest that moved in after the first page is in none of its cursors. A guest's entry is marked with the guest's number.

local sources = {}
local function add(of_ledger, entries, mark) sources[#sources + 1] = {ledger = of_ledger, entries = entries, mark = mark, chunk = {}} end

local last = redis.call('LINDEX', ledger, -1)
add(ledger, last and tonumber(string.match(last, '^%d+')) or 0, '')
for guest, entries in string.gmatch(moved_in, '(%S+) (%d+)\n') do add('{' .. guest .. '}:ledger', tonumber(entries), #sources .. '.') end

local given = {}
for before in string.gmatch(cursor, '%d+') do given[#given + 1] = tonumber(before) end
for number, source in ipairs(sources) do
  -- The seq that comes next.
  source.next = cursor == '' and source.entries or math.min((given[number] or 1) - 1, source.entries)
end

-- Read at a time: of one ledger the page and the entry that tells whether another follows, of many few, for most of them
-- have nothing on this page.
local chunk_length = math.max(1, math.floor((tonumber(limit) + 1) / #sources))

-- Puts the entry whose turn it is at the head of its source, with the time when it was written. Retention may have taken
-- entries from the head of a ledger, so places are counted from its tail, whose seq is known.
local function turn(source)
  if #source.chunk == 0 and source.next > 0 then
    local stop = source.next - source.entries - 1
    source.chunk = redis.call('LRANGE', source.ledger, stop - chunk_length + 1, stop)
  end
  source.head = table.remove(source.chunk)
  if source.head then source.at = tonumber(string.match(source.head, '^%d+ %d+ %S+ (%w+)'), 36)
  else source.next = 0 end
end
for _, source in ipairs(sources) do turn(source) end

local function newest()
  local chosen
  for _, source in ipairs(sources) do
    if source.head and (not chosen or source.at > chosen.at) then chosen = source end
  end
  return chosen
end

local answer = {'page', ''}
for _ = 1, tonumber(limit) do
  local source = newest()
  if not source then return answer end
  answer[#answer + 1] = source.mark .. source.head
  source.next = source.next - 1
  turn(source)
end
if newest() then
  local places = {}
  for number, source in ipairs(sources) do places[number] = string.format('%.0f', source.next + 1) end
  answer[2] = table.concat(places, '.')
end
return answer
