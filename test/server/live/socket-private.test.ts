import { expect, test } from 'vitest';
import { refuse } from '../../../src/errors.ts';
import { openSocket } from './fake-socket.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open() {
  let failure: Error | undefined;
  const opened = openSocket({
    receives: {},
    async sendPrivate(socket) {
      if (failure !== undefined) throw failure;
      socket.send('a hand');
    },
  });
  opened.socket.buffered = 0;
  return { ...opened, failWith: (error: Error | undefined) => (failure = error) };
}

test('a private part is read once for all changes that come before the read', async () => {
  const { live, socket } = open();
  for (let times = 0; times < 5; times++) live.privateChanged();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});

test.each<[string, Error, first: string[], later: string[]]>([
  ['again every second, and without an error, while Redis does not answer', new Error('Connection is closed.'), [], ['a hand']],
  ['again every second, and without an error, while the account is moving', refuse('store_unavailable'), [], ['a hand']],
  ['not again for a player who may no longer see it', refuse('account_banned'), ['account_banned'], ['account_banned']],
])('a private part is read %s', async (_, error, first, later) => {
  const { live, socket, failWith } = open();
  const sent = () => socket.sent.map((text) => (text === 'a hand' ? text : JSON.parse(text).error.code));
  const check = async (times: number) => {
    for (; times > 0; times--) {
      live.check();
      await turn();
    }
  };
  failWith(error);
  live.privateChanged();
  await turn();
  await check(1);
  expect(sent()).toEqual(first);
  failWith(undefined);
  await check(2);
  expect(sent()).toEqual(later);
});

test('the read of a private part waits until a lagging socket has drained', async () => {
  const { live, socket } = open();
  socket.buffered = 1;
  live.privateChanged();
  await turn();
  expect(socket.sent).toEqual([]);
  socket.buffered = 0;
  live.sendQueue.drained();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});
