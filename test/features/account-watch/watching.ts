import { onTestFinished } from 'vitest';
import { Watcher, type Message, type WatchOptions } from '../../realtime/watcher.ts';

/** A connection to the channel of an account, until the end of the test. */
export async function openAccount({ url }: { url: string }, options: WatchOptions = {}): Promise<Watcher> {
  const watcher = await Watcher.open(url, '/v1/account/live', options);
  onTestFinished(() => void (watcher.isClosed || watcher.close()));
  return watcher;
}

/** A connection that watches the account of an install. */
export async function watchAccount(service: { url: string }, installId: string): Promise<Watcher> {
  const watcher = await openAccount(service);
  watcher.send({ type: 'hello', installId });
  await account(watcher);
  return watcher;
}

/** The first `account` message that matches. */
export const account = (watcher: Watcher, matches: (message: Message) => boolean = () => true): Promise<Message> =>
  watcher.until((message) => message.type === 'account' && matches(message));

export const reaches = (watcher: Watcher, balance: number): Promise<Message> =>
  account(watcher, ({ balanceCoins }) => balanceCoins === balance);
