import type { Client } from './client.ts';
import { guarded } from './guarded.ts';
import type { Result } from './routes.ts';
import type { Watch } from './watch.ts';
import type { Message, WatchState } from './watched.ts';

/** Between two reads of a list where no WebSocket comes through. */
const POLL_MS = 4000;

export interface ListWatchOptions {
  onState?: (state: WatchState) => void;
}

/** As `sleep`, in fewer bytes: nobody else listens by `onabort`. */
const pause = (signal: AbortSignal): Promise<unknown> =>
  new Promise<unknown>((done) => {
    const timer = setTimeout(done, POLL_MS);
    signal.onabort = () => done(clearTimeout(timer));
  });

/**
 * Follows a list that the service sends whole. It has no position of its own: each one that differs from the last takes the next.
 * @param field of the messages of the channel, and of the replies of `read`
 * @param read reads the list
 * @param isShort whether the channel may know more than this reply
 */
export const watchList = <Item>(
  client: Client,
  path: string,
  field: string,
  read: (signal: AbortSignal) => Promise<Result>,
  onList: (list: Item[]) => void,
  { onState }: ListWatchOptions = {},
  isShort?: (reply: Record<string, unknown>) => unknown,
): Watch => {
  let position = 0;
  let last = '';
  const textOf = (message: Message): string => JSON.stringify(message[field]);
  return client.parts.follow(
    {
      path,
      async poll(wait, _, signal) {
        // The service does not wait for changes of the list.
        if (wait) await pause(signal);
        const before = position;
        const reply = await read(signal);
        // A read while the socket is open shows whether the socket is silent for want of a connection. Two reads say nothing: an older one, where
        // the socket has brought news meanwhile, and a short one.
        return position > before || (!wait && before && isShort?.(reply as never)) ? { ok: true } : reply;
      },
      positionOf: (message) => (message[field] ? position + +(textOf(message) !== last) : undefined),
      deliver(message) {
        last = textOf(message);
        position++;
        guarded(onList)(message[field] as Item[]);
        return false;
      },
    },
    onState,
  );
};
