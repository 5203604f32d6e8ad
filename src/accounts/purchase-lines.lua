-- Bounds the purchase lines of an account (purchase-lines.ts), for every script that adds lines. Gives bound_lines() and join_lines().
local MOST_LINES = 10

-- Returns a number by which lines are ranked at the time `at`: lines that give access come first, then lines that may give access again,
-- then ended lines. Within each of these groups the line that ends last comes first. `accessEnd` of purchase-expiry.ts defines when a line
-- stops giving access.
local function worth_of(line, at)
  local state, ends, renews, checked = string.match(line, '<line: state, ends, renews, checked>')
  ends, checked = tonumber(ends) or 0, tonumber(checked) or 0
  local is_paid = state == 'active' or state == 'grace' or state == 'canceled'
  local stops = ends
  if renews == '1' and state ~= 'canceled' then
    if checked < ends then stops = ends + RENEWAL_LEEWAY_MS
    elseif checked < ends + RENEWAL_MOMENT_MS then stops = ends + RENEWAL_MOMENT_MS end
  end
  if is_paid and at < stops then return 2e15 + stops end
  return (is_paid or state == 'expired') and ends or 1e15 + ends
end

-- Returns the ten lines with the highest rank, and adds the purchases of the other lines to `owned`, the set of all purchases of the
-- account. Without this, the account would lose track of a purchase that a guest brought, because that purchase is not in `owned` yet.
local function bound_lines(lines, at, owned)
  if #lines <= MOST_LINES then return lines end
  local ranked = {}
  for place, line in ipairs(lines) do ranked[place] = {line = line, place = place, worth = worth_of(line, at)} end
  table.sort(ranked, function(one, other)
    if one.worth ~= other.worth then return one.worth > other.worth end
    return one.place < other.place
  end)
  local kept = {}
  for rank, ranked_line in ipairs(ranked) do
    if rank <= MOST_LINES then kept[rank] = ranked_line.line
    else redis.call('SADD', owned, (string.match(ranked_line.line, '<line: hash>'))) end
  end
  return kept
end

-- Joins the purchase lines of an account (`held`) and of a guest that moves into it (`brought`). If both have a line of the same purchase,
-- the account's line stays.
local function join_lines(held, brought, at, owned)
  local lines, is_listed = {}, {}
  for line in string.gmatch(held .. '\n' .. brought, '[^\n]+') do
    local token_hash = string.match(line, '<line: hash>')
    if not is_listed[token_hash] then lines[#lines + 1], is_listed[token_hash] = line, true end
  end
  return table.concat(bound_lines(lines, at, owned), '\n')
end
