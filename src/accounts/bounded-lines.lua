-- Bounds the purchase lines of an account (model.ts, purchasesOf), for every script that adds lines. Gives bound_lines(),
-- join_lines().
local MOST_LINES = 10
-- As in purchase-expiry.ts.
local RENEWAL_LEEWAY_MS, RENEWAL_MOMENT_MS = 24 * 3600000, 2 * 60000

-- The worth of a line at a time: lines that give access come first, then lines that may give access again, then ended lines; among equals
-- the line that ends last. `accessEnd` of purchase-expiry.ts defines when a line stops giving access.
local function worth_of(line, at)
  local state, ends, renews, checked = string.match(line, '^%S+ (%S+) (%S+) (%S+) (%S+)')
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

-- Returns the ten lines of the highest worth. From then on `owned`, the set of all purchases of the account, lists the others: a purchase
-- that a guest brought is listed nowhere else under the account.
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
    else redis.call('SADD', owned, (string.match(ranked_line.line, '^%S+'))) end
  end
  return kept
end

-- Joins the lines of an account and of a guest that moves into it. Of two lines of one purchase the account's stays.
local function join_lines(held, brought, at, owned)
  local lines, is_listed = {}, {}
  for line in string.gmatch(held .. '\n' .. brought, '[^\n]+') do
    local token_hash = string.match(line, '^%S+')
    if not is_listed[token_hash] then lines[#lines + 1], is_listed[token_hash] = line, true end
  end
  return table.concat(bound_lines(lines, at, owned), '\n')
end
