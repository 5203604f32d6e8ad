-- Hides an account's entry on a board, or makes it visible again.
-- KEYS scores, players, version, secret
-- ARGV game, account_id, is_hidden
-- Library board.lua: entry_of_account, hidden_score, hide, show, changed
-- Library season.lua: keep_payout, bar_payout
-- Answers changed none
--
-- On the board of a closed season this does not change who wins. If an entry was visible when the season was closed, it keeps its payout
-- when it is hidden. If an entry was hidden when the season was closed, it wins nothing when it becomes visible again. An account that is
-- banned when the prizes are paid gets no prize.
local entry = entry_of_account(secret, players, account_id)
if not entry then return {'none'} end
local hidden = hidden_score(players, entry)
local score = redis.call('ZSCORE', scores, entry.member)
if is_hidden == '1' and score then
  keep_payout(scores, entry.player_id, account_id, score)
  hide(scores, players, entry, score)
elseif is_hidden == '0' and hidden then
  bar_payout(scores, entry.player_id, account_id)
  show(scores, players, entry, hidden)
else return {'none'} end
changed(version, game)
return {'changed'}
