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

test('a private part is read once for all changes that come before the read', async () => {
  const { live, socket } = open();
  for (let times = 0; times < 5; times++) live.privateChanged();
  await turn();
  expect(socket.sent).toEqual(['a hand']);
});

test.each([
  ['Redis does not answer', new Error('Connection is closed.')],
  ['the account is moving', refuse('store_unavailable')],
])('while %s a private part is read again every second, and the player gets no error', async (_, error) => {
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

test('a private part is not read again for a player who may no longer see it', async () => {
  const { live, looks, failWith } = open();
  failWith(refuse('account_banned'));
  live.privateChanged();
  await turn();
  live.check();
  await turn();
  expect(looks()).toBe(1);
});

test('the read of a private part waits until a lagging socket has drained', async () => {
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
