import { expect, test } from 'vitest';
import { refuse } from '../../../src/errors.ts';
import { openSocket } from './fake-socket.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open() {
  let looks = 0;
  let failure: Error | undefined;
  const opened = openSocket({
    receives: {},
    async sendPrivate(socket) {
      looks++;
      if (failure !== undefined) throw failure;
      socket.send('a hand');
    },
  });
  opened.socket.buffered = 0;
  return { ...opened, looks: () => looks, failWith: (error: Error | undefined) => (failure = error) };
}

test('what only a player sees is looked at once for all changes that come before the look', async () => {
  const { live, socket } = open();
  for (let times = 0; times < 5; times++) live.privateChanged();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});

test.each([
  ['Redis does not answer', new Error('Connection is closed.')],
  ['the account is moving', refuse('store_unavailable')],
])('while %s it is looked at again every second, and the player is told no error', async (_, error) => {
  const { live, socket, failWith } = open();
  failWith(error);
  live.privateChanged();
  await turn();
  live.check();
  await turn();
  expect(socket.sent).toEqual([]);
  failWith(undefined);
  live.check();
  await turn();
  live.check();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});

test('of a player who may not see it any more it is not looked at again', async () => {
  const { live, looks, failWith } = open();
  failWith(refuse('account_banned'));
  live.privateChanged();
  await turn();
  live.check();
  await turn();
  expect(looks()).toBe(1);
});

test('it waits until a socket that lags has drained', async () => {
  const { live, socket } = open();
  socket.buffered = 1;
  live.privateChanged();
  await turn();
  expect(socket.sent).toEqual([]);
  socket.buffered = 0;
  live.outbox.drained();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});
