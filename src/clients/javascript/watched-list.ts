import type { Client } from './client.ts';
import { guarded } from './guarded.ts';
import type { Result } from './routes.ts';
import type { Watch } from './watch.ts';
import type { Message, WatchState } from './watched.ts';

/** Milliseconds between two reads of a list if the network blocks WebSockets. */
const POLL_MS = 4000;

export interface ListWatchOptions {
  onState?: (state: WatchState) => void;
}

/**
 * Waits POLL_MS, or until the signal aborts. This function is shorter than `sleep`. It may set `onabort`, because nothing else sets it on
 * this signal.
 */
const pause = (signal: AbortSignal): Promise<unknown> =>
  new Promise<unknown>((done) => {
    const timer = setTimeout(done, POLL_MS);
    signal.onabort = () => done(clearTimeout(timer));
  });

/**
 * Watches a list that the service sends whole. Lists have no positions, so each list that differs from the last gets the next number.
 * @param field the field with the list, in the messages of the channel and in the replies of `read`
 * @param read reads the list
 * @param isShort whether the channel may have more items than this reply
 */
export const watchList = <Item, Season = undefined>(
  client: Client,
  path: string,
  field: string,
  read: (signal: AbortSignal) => Promise<Result>,
  onList: (list: Item[], season: Season) => void,
  { onState }: ListWatchOptions = {},
  isShort?: (reply: Record<string, unknown>) => unknown,
): Watch => {
  let position = 0;
  let last = '';
  const textOf = (message: Message): string => JSON.stringify([message[field], message['season']]);
  return client.parts.follow(
    {
      path,
      async poll(wait, _, signal) {
        // The service answers a read of a list at once, not when the list changes, so the client waits before each read.
        if (wait) await pause(signal);
        const before = position;
        const reply = await read(signal);
        // A read while the socket is open shows whether the socket is silent because its connection is lost. The read shows nothing if the
        // socket has brought news since, or if the reply may have fewer items than the channel.
        return position > before || (!wait && before && isShort?.(reply as never)) ? { ok: true } : reply;
      },
      positionOf: (message) => (message[field] ? position + +(textOf(message) !== last) : undefined),
      deliver(message) {
        last = textOf(message);
        position++;
        guarded(onList)(message[field] as Item[], message['season'] as Season);
        return false;
      },
    },
    onState,
  );
};
