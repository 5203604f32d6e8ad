// What must and must not compile for game servers. Only `tsc` reads this file.
import { coinopServer, type CoinopEvent, type EventType } from '../../src/clients/javascript/server.ts';
import type { Wire } from '../../src/clients/javascript/wire.ts';

const coinop = coinopServer({ url: 'https://coinop.example', key: 'coinop_sk_…' });
const by = { accountId: 'BQ5v1mHk2nYtZ8cXw0aLpR' };

async function typed(): Promise<void> {
  const grant = await coinop.grant({ ...by, coins: 5, key: 'match-17-won' });
  if (grant.ok) void [grant.balanceAfterCoins satisfies number, grant.replayed satisfies true | undefined];
  else if (grant.error.code === 'balance_limit') grant.error.balanceCoins.toFixed();
  // @ts-expect-error: a grant is never refused for too few coins
  else void (grant.error.code === 'insufficient_coins');
  // @ts-expect-error: the reply has to be checked first
  void grant.balanceAfterCoins;

  await coinop.grant({ installId: 'install-0001', coins: 5, key: 'welcome' }, { timeoutMs: 60_000, signal: AbortSignal.timeout(100) });
  // @ts-expect-error: a grant needs a key, so that a repetition from another process counts once
  await coinop.grant({ ...by, coins: 5 });
  // @ts-expect-error: an account is needed
  await coinop.grant({ coins: 5, key: 'k' });
  // @ts-expect-error: only one of the two fields may name the account
  await coinop.grant({ ...by, installId: 'install-0001', coins: 5, key: 'k' });

  // @ts-expect-error: the game is needed
  await coinop.submitScore({ ...by, score: 12, name: 'Ada' });

  const session = await coinop.verifySession('token');
  if (session.ok && session.accountId !== undefined) await coinop.balance({ accountId: session.accountId });

  const room = coinop.room('BCDFG');
  const started = await room.start();
  if (started.ok) void [started.room.players.length, started.you.playerId];
  else void (started.error.code === 'forbidden' || started.error.code === 'not_enough_players');
  await room.kick({ playerId: 'p2' }, { timeoutMs: 1000 });
  // @ts-expect-error: a player is needed
  await room.kick();
  // @ts-expect-error: a state or a patch, not both
  await room.state({ state: 1, merge: 2 });
  // @ts-expect-error: a start is not refused for a state
  void (!started.ok && started.error.code === 'stale_state');
  // @ts-expect-error: a server has no seat
  await room.join({ name: 'Ada' });
  const page = await coinop.events.read({ after: '1k', types: ['coins.changed', 'account.deleted'], limit: 1000, wait: 20 });
  if (page.ok) {
    const [event] = page.events;
    if (event?.type === 'coins.changed') {
      // @ts-expect-error: a deleted account has lost them
      event.data.coins.toFixed();
      if (event.data.entryId !== undefined) void [event.accountId.trim(), event.data.coins.toFixed()];
    }
    // @ts-expect-error: this type was not requested
    void (event?.type === 'pairing.claimed');
  } else void (page.error.code === 'not_found' || page.error.code === 'forbidden' || page.error.code === 'network');
  for await (const each of coinop.events.follow()) {
    // @ts-expect-error: a lasting failure ends the pages
    void each.events;
    if (!each.ok) throw new Error(each.error.code);
    for (const { type, data, accountId } of each.events)
      switch (type) {
        case 'board.season_ended':
          // @ts-expect-error: a season has no account
          accountId.trim();
          data.game?.trim();
          break;
        case 'account.moved':
          data.from?.trim();
      }
  }
  // @ts-expect-error: there is no such type
  await coinop.events.read({ types: ['coins.vanished'] });
  // The declaration of the service has the same types, and no field that the client leaves out.
  type Declared = Wire['GET /v1/events']['reply']['events'][number];
  void [{} as Declared['type'] satisfies EventType, {} as EventType satisfies Declared['type']];
  type Fields<E> = E extends { data: infer Data } ? (Data extends unknown ? keyof Data : never) : never;
  void [{} as Fields<CoinopEvent> satisfies keyof Declared['data'], {} as keyof Declared['data'] satisfies Fields<CoinopEvent>];
  // @ts-expect-error: a server cannot create a session
  await coinop.login(by);
}
void typed;
