-- Bounds the purchase lines of an account (model.ts, purchasesOf), for every script that adds lines. Gives bound_lines().
local MOST_LINES = 10
local RENEWAL_LEEWAY_MS = 24 * 3600000 -- as in purchase-expiry.ts

-- How much a line is worth at a time: lines that give access come first, then those that may give access again, then ended ones; among
-- equals the one that ends last.
local function worth_of(line, at)
  local state, ends, renews = string.match(line, '^%S+ (%S+) (%S+) (%S+)')
  ends = tonumber(ends) or 0
  local is_paid = state == 'active' or state == 'grace' or state == 'canceled'
  local stops = (renews == '1' and state ~= 'canceled') and ends + RENEWAL_LEEWAY_MS or ends
  if is_paid and at < stops then return 2e15 + ends end
  return (is_paid or state == 'expired') and ends or 1e15 + ends
end

-- Returns the ten lines that are worth most. `owned`, the set of all purchases of the account, lists the others from then on: a
-- purchase that a guest brought is listed nowhere else under the account, and older versions did not list all.
local function bound_lines(lines, at, owned)
  if #lines <= MOST_LINES then return lines end
  local ranked = {}
  for place, line in ipairs(lines) do ranked[place] = {line = line, place = place, worth = worth_of(line, at)} end
  table.sort(ranked, function(one, other)
    if one.worth ~= other.worth then return one.worth > other.worth end
    return one.place < other.place
  end)
  local kept = {}
  for rank, each in ipairs(ranked) do
    if rank <= MOST_LINES then kept[rank] = each.line
    else redis.call('SADD', owned, (string.match(each.line, '^%S+'))) end
  end
  return kept
end
