import type { Result } from './routes.ts';
import type { Message, Watched } from './watched.ts';

/** How far a watch has come. */
export interface Progress {
  /** The position of the newest state that was passed on. */
  readonly position: number;
  readonly isFinal?: boolean;
  /** Passes a state on if it is newer than the last one. Returns the position of the state. */
  take(message: Message): Promise<number>;
  /** Reads the state from the service, and passes it on. */
  poll(waitSeconds: number): Promise<Result>;
}

export function progressOf(watched: Watched, signal: AbortSignal): Progress {
  const progress = {
    position: 0,
    isFinal: false,

    async take(message: Message): Promise<number> {
      const found = watched.positionOf(message);
      if (signal.aborted) return 0;
      watched.freeze?.(message['room']);
      if (found === undefined) watched.other?.(message);
      else if (found > progress.position) {
        progress.position = found;
        if (await watched.deliver(message)) progress.isFinal = true;
      }
      return found ?? 0;
    },

    async poll(waitSeconds: number): Promise<Result> {
      const known = progress.position;
      const reply = await watched.poll(waitSeconds, known, signal);
      if (reply.ok) {
        // The read state is older than the last one, although it was read later: the service has lost changes.
        if (progress.position === known && watched.positionOf(reply as never)! < known) progress.position = 0;
        await progress.take(reply as never);
      }
      return reply;
    },
  };
  return progress;
}
