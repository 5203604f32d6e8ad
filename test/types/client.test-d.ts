// What must and must not compile for users of the client. Only `tsc` reads this file.
import { coinop, type CoinopError } from '../../src/client/client.ts';
import type { Wire } from '../../src/client/wire.ts';

const client = coinop({ url: 'https://coinop.example' });

async function typed(): Promise<void> {
  // The reply and the errors are those of the endpoint's declaration.
  const credit = await client.coins.credit({ coins: 5 });
  if (credit.ok) {
    const balance: number = credit.balanceAfterCoins;
    const replayed: true | undefined = credit.replayed;
    void [balance, replayed];
    // @ts-expect-error: a credit answers no rank
    void credit.rank;
  } else if (credit.error.code === 'balance_limit') {
    const balance: number = credit.error.balanceCoins;
    void balance;
  } else {
    // @ts-expect-error: only some codes have a balance
    void credit.error.balanceCoins;
    // @ts-expect-error: a credit is never refused for too few coins
    void (credit.error.code === 'insufficient_coins');
    void (credit.error.code === 'network' || credit.error.code === 'timeout' || credit.error.code === 'aborted');
    void (credit.error.code === 'not_coinop' || credit.error.code === 'sign_in_required' || credit.error.code === 'session_required');
  }
  // @ts-expect-error: the reply has to be looked at first
  void credit.balanceAfterCoins;

  const debit = await client.coins.debit({ coins: 5, key: 'hat' });
  if (!debit.ok && debit.error.code === 'insufficient_coins') debit.error.balanceCoins.toFixed();
  if (!debit.ok && debit.error.code === 'rate_limited') debit.error.retryAfterMs.toFixed();

  const all = (error: CoinopError<'room_full' | 'room_locked'>): string => {
    switch (error.code) {
      case 'room_full':
        return 'full';
      case 'room_locked':
        return 'locked';
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

  await client.coins.balance();
  await client.coins.history({ limit: 10 }, { signal: AbortSignal.timeout(100), timeoutMs: 50 });
  await client.rooms.state({ code: 'BCDFG', state: { level: 1 } });

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

  const pairing = await client.pairing.open();
  if (pairing.ok) client.watchPairing(pairing, (status) => void (status === 'claimed'));
}
void typed;

// Each endpoint is listed by its own path: one by `GET ${string}` would make the package's types contradict each other.
type Wide = { [Route in keyof Wire]: `GET ${string}` extends Route ? Route : never }[keyof Wire];
const wide: [Wide] extends [never] ? true : Wide = true;
void wide;
