import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reply } from '../../src/redis/resp.ts';
import { Subscriber } from '../../src/redis/subscriber.ts';

/** A subscriber with replies that the test sets. */
class Fed extends Subscriber {
  protected override send(): void {}

  feed(...replies: Reply[]): void {
    for (const reply of replies) this.received(reply);
  }
}

let fed: Fed;
beforeEach(() => void (fed = new Fed(new Redis({ lazyConnect: true }))));
afterEach(() => fed.disconnect());

test('a subscription to several channels counts once Redis has confirmed all of them', async () => {
  const confirmed: string[] = [];
  const subscribed = fed.subscribe('a', 'b').then(() => confirmed.push('a and b'));
  const answered = fed.ping().then(() => confirmed.push('ping'));
  fed.feed(['subscribe', 'a', 1]);
  await new Promise(setImmediate);
  expect(confirmed).toEqual([]);
  fed.feed(['subscribe', 'b', 2], 'PONG');
  await Promise.all([subscribed, answered]);
  expect(confirmed).toEqual(['a and b', 'ping']);
});

test('leaving a channel whose slot moves is refused, and confuses no later command', async () => {
  const ended: string[] = [];
  fed.on('sunsubscribed', (channel) => ended.push(channel));
  const left = fed.unsubscribeSharded(['{1}a']);
  const refused = expect(fed.subscribeSharded(['{1}c'])).rejects.toThrow('MOVED');
  const subscribed = fed.subscribeSharded(['{2}d']);
  // The node reports all channels of the slot, and then refuses both commands.
  fed.feed(['sunsubscribe', '{1}b', 1], ['sunsubscribe', '{1}a', 0]);
  fed.feed(new Error('MOVED 1 127.0.0.1:1'), 'PONG', new Error('MOVED 1 127.0.0.1:1'));
  await left;
  await refused;
  fed.feed(['ssubscribe', '{2}d', 1]);
  await subscribed;
  expect(ended).toEqual(['{1}b']);
});
