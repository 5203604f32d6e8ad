// What must and must not compile for users of the client. Only `tsc` reads this file.
import { coinop, type CoinopError } from '../../src/clients/javascript/client.ts';
import type { Calls } from '../../src/clients/javascript/call-types.ts';
import type { CallsByRoute } from '../../src/clients/javascript/calls.ts';
import type { Route, Wire } from '../../src/clients/javascript/wire.ts';

const client = coinop({ url: 'https://coinop.example' });

async function typed(): Promise<void> {
  // The reply and the errors are those of the endpoint's declaration.
  const credit = await client.coins.credit({ coins: 5 });
  if (credit.ok) {
    void [credit.balanceAfterCoins satisfies number, credit.replayed satisfies true | undefined];
    // @ts-expect-error: the reply of a credit has no rank
    void credit.rank;
  } else if (credit.error.code === 'balance_limit') {
    void (credit.error.balanceCoins satisfies number);
  } else {
    // @ts-expect-error: only some codes have a balance
    void credit.error.balanceCoins;
    // @ts-expect-error: a credit is never refused for too few coins
    void (credit.error.code === 'insufficient_coins');
    void (credit.error.code === 'network' || credit.error.code === 'not_coinop' || credit.error.code === 'sign_in_required');
  }
  // @ts-expect-error: the reply has to be checked first
  void credit.balanceAfterCoins;

  const all = (error: CoinopError<'room_full' | 'room_locked'>): string => {
    switch (error.code) {
      case 'room_full':
      case 'room_locked':
        return error.message;
    }
  };
  void all;

  // @ts-expect-error: coins are needed
  await client.coins.credit();
  // @ts-expect-error: coins are a number
  await client.coins.credit({ coins: '5' });
  // @ts-expect-error: the client names the caller
  await client.coins.credit({ coins: 5, installId: 'install-0001' });
  // @ts-expect-error: there is no such call
  await client.coins.borrow({ coins: 5 });
  // @ts-expect-error: a room has a code
  await client.rooms.join({ name: 'Ada' });
  // @ts-expect-error: the path names the action
  await client.rooms.join({ code: 'BCDFG', action: 'leave' });

  await client.coins.history({ limit: 10 }, { signal: AbortSignal.timeout(100), timeoutMs: 50 });
  await client.rooms.state({ code: 'BCDFG', merge: { level: 2 }, ifStateSeq: 3 });
  // @ts-expect-error: a state or a patch, not both
  await client.rooms.state({ code: 'BCDFG', state: 1, merge: 2 });
  // @ts-expect-error: a player is needed
  await client.rooms.kick({ code: 'BCDFG' });
  // @ts-expect-error: a start has no state
  await client.rooms.start({ code: 'BCDFG', state: 1 });
  // @ts-expect-error: the client numbers the acts
  await client.rooms.ready({ code: 'BCDFG', order: 1 });

  // A call of an action lists only the errors of this action.
  const state = await client.rooms.state({ code: 'BCDFG', state: 1, ifStateSeq: 3 });
  if (!state.ok && state.error.code === 'stale_state') state.error.stateSeq.toFixed();
  const kick = await client.rooms.kick({ code: 'BCDFG', playerId: 'p2' });
  void (!kick.ok && kick.error.code === 'not_host');
  // @ts-expect-error: a kick is not refused for a stale state
  void (!kick.ok && kick.error.code === 'stale_state');
  // @ts-expect-error: the path names the action
  void (!kick.ok && kick.error.code === 'unknown_action');

  const room = await client.rooms.join({ code: 'BCDFG', name: 'Ada' });
  // @ts-expect-error: only servers with a key get this code
  void (!room.ok && room.error.code === 'forbidden');
  if (room.ok) room.room.players.map(({ name, connected }) => [name, connected]);
  client.watchRoom<{ level: number }>('BCDFG', ({ state, phase }) => void [state.level.toFixed(), phase === 'playing'], {
    onState(state) {
      if (state.status === 'waiting') state.ms.toFixed();
      if (state.status === 'ended') state.code.trim();
      // @ts-expect-error: there is no such state
      void (state.status === 'lost');
    },
  });
}
void typed;

// Each endpoint is listed by its own path. An entry for `GET ${string}` would make the package's types contradict each other.
type Wide = { [Route in keyof Wire]: `GET ${string}` extends Route ? Route : never }[keyof Wire];
const wide: [Wide] extends [never] ? true : Wide = true;
void wide;

// `Calls` lists each call, and each call has the route in `Calls`.
const written: Calls = {} as CallsByRoute;
const routed: CallsByRoute = {} as Calls;
void [written, routed];

// An unknown path does not compile.
const call = client.parts.call;
void call('GET /v1/balance', {}, {}, async () => ({}));
// @ts-expect-error: no endpoint has this path
void call('GET /v1/balances', {}, {}, async () => ({}));
const repeatable: Route = '!POST /v1/rooms';
// @ts-expect-error: no room has this action
const dance: Route = 'POST /v1/rooms/{code}/dance';
void [repeatable, dance];
