// A game server with authority over "guess the number". Players open a room of coinop and send their session token and their guesses
// here. This server knows the number, hosts the room, and pays the winner. Its key needs the scopes coins, rooms and accounts:read:
//   COINOP_URL=http://127.0.0.1:3000 COINOP_KEY=coinop_sk_… PORT=4000 node game-server.mjs
import { randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import { coinopServer } from 'coinop/client/server';

const { COINOP_URL, COINOP_KEY, PORT } = process.env;
const coinop = coinopServer({ url: COINOP_URL, key: COINOP_KEY });
const games = new Map(); // A restart draws new numbers.
const refused = ({ error, status }) => [[404, 409].includes(status) ? status : 503, { error: error.code }];

async function play({ sessionToken, code, playerId, guess }) {
  const room = coinop.room(String(code));
  const [session, seen] = await Promise.all([coinop.verifySession(String(sessionToken)), room.read()]);
  if (!session.ok) return refused(session);
  if (!session.authenticated) return [401, { error: 'sign_in' }];
  if (!seen.ok) return refused(seen);
  if (!seen.room.players.some(({ id }) => id === playerId)) return [403, { error: 'not_in_room' }];
  if (!Number.isInteger(guess)) return [400, { error: 'bad_request' }];
  // A code is given again some hours after its room.
  const id = `${seen.room.code} ${seen.room.createdAt}`;
  const game = games.get(id) ?? games.set(id, { number: randomInt(1, 101) }).get(id);
  const hint = guess === game.number ? 'right' : guess < game.number ? 'higher' : 'lower';
  const acts = [() => room.start(), () => room.state({ state: { playerId, guess, hint } })];
  if (hint === 'right') {
    // The seat is the player's word, the account is not. The first right guess wins, and its player may send it again.
    if ((game.winner ??= session.accountId) !== session.accountId) return [409, { error: 'too_late' }];
    // One prize a day for each account: the key pays once, however often this call is repeated, in this room or in others.
    const key = `guess ${new Date().toISOString().slice(0, 10)}`;
    acts.splice(1, 0, () => coinop.grant({ accountId: session.accountId, coins: 25, key }));
    acts.push(() => room.end());
  }
  for (const act of acts) {
    const reply = await act();
    if (!reply.ok) return refused(reply);
  }
  return [200, { hint }];
}

const server = createServer(async (request, response) => {
  let [status, body] = [400, { error: 'bad_request' }];
  try {
    let text = '';
    for await (const chunk of request) if ((text += chunk).length > 8192) throw new RangeError('The body is too long');
    [status, body] = await play(JSON.parse(text));
  } catch (error) {
    console.error(error);
  }
  // Pages of any origin may call, because no cookie names the player. As text/plain a POST needs no preflight.
  response.writeHead(status, { 'content-type': 'application/json', 'access-control-allow-origin': '*' }).end(JSON.stringify(body));
});
server.listen(Number(PORT ?? 4000), () => console.log(`game server listening on http://127.0.0.1:${server.address().port}`));
