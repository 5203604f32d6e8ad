// A game server with authority over "guess the number". It opens a room that only it controls. Players join the room and send their
// guesses to the server as messages. It knows the number, says higher or lower, and pays the winner. Its key needs the scopes coins and rooms:
//   COINOP_URL=http://127.0.0.1:3000 COINOP_KEY=coinop_sk_… node game-server.mjs
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { coinopServer } from 'coinop/client/server';

const { COINOP_URL, COINOP_KEY } = process.env;
const coinop = coinopServer({ url: COINOP_URL, key: COINOP_KEY });

/** Repeats a call until the service has decided. A refusal is a decision, an outage is not. */
async function decided(call) {
  for (;;) {
    const reply = await call();
    if (reply.ok || (reply.status < 500 && reply.status !== 429)) return reply;
    await sleep(1000);
  }
}

/** One prize a day for each account: the key pays once, however often this is called, in any room. */
async function pay(accountId) {
  const key = `guess ${new Date().toISOString().slice(0, 10)}`;
  return decided(() => coinop.grant({ accountId, coins: 25, key }));
}

async function host() {
  const opened = await decided(() => coinop.createRoom({ game: 'guess', writers: 'server', state: { guesses: 0 } }));
  if (!opened.ok) throw new Error(opened.error.code);
  const room = coinop.playRoom(opened.room.code);
  const number = randomInt(1, 101);
  /** The account of each seat. A ticket proves it, once: who gets coins must not depend on the claim of a player. */
  const accounts = new Map();
  let guesses = 0;
  let winner;

  // A client may send anything, at any time. Trust only `from`, which the service sets.
  room.on('message', async ({ from, data }) => {
    if (typeof data?.ticket === 'string') {
      const seat = await decided(() => coinop.room(room.code).verifyTicket({ ticket: data.ticket }));
      if (seat.ok && seat.playerId === from) accounts.set(from, seat.accountId);
      return room.send({ isKnown: accounts.has(from) }, [from]);
    }
    const guess = data?.guess;
    if (winner || !accounts.has(from) || !Number.isInteger(guess)) return;
    const hint = guess === number ? 'right' : guess < number ? 'higher' : 'lower';
    if (hint === 'right') winner = from;
    room.mergeState({ guesses: ++guesses, ...(winner && { winner, number }) });
    room.send({ guess, hint }, [from]);
    if (!winner) return;
    const paid = (await pay(accounts.get(from))).ok;
    await room.mergeState({ paid });
    await room.act('end');
  });
  console.log(`room ${opened.room.code}`);
  await room.ended;
}

// One room after the other. Only this process knows the number: after a restart it opens a new room, and the old one expires.
for (;;) await host();
