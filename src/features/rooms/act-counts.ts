import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { errors, Refusal, type ErrorCode } from '../../errors.ts';
import type { Metrics } from '../../server/metrics.ts';
import { actionNames, type ActionName } from './actions.ts';
import type { Done } from './room-acts.ts';

const PATHS = ['http', 'channel'] as const;
const OUTCOMES = ['done', 'replayed', 'refused', 'failed'] as const;

/** The path by which an act came: as a request over HTTP, or as a message on a channel. */
export type ActPath = (typeof PATHS)[number];

/**
 * Counts acts in rooms by action, path and outcome. The counters are plain numbers. The comment of `DurationHistogram` gives the reason.
 */
export class ActCounts {
  readonly #counts = new Map<ActionName, Record<ActPath, Record<(typeof OUTCOMES)[number], number>>>();

  constructor(metrics: Pick<Metrics, 'countByEach'>) {
    const none = () => ({ done: 0, replayed: 0, refused: 0, failed: 0 });
    for (const action of actionNames) this.#counts.set(action, { http: none(), channel: none() });
    metrics.countByEach({
      name: 'coinop_room_acts_total',
      help: 'Acts in rooms. Replayed: the tab had already done an act with this order. Refused: answered with a 4xx code. Failed: answered with a 5xx code.',
      labels: ['action', 'via', 'outcome'],
      counts: () =>
        [...this.#counts].flatMap(([action, byPath]) =>
          PATHS.flatMap((path) => OUTCOMES.map((outcome) => [[action, path, outcome], byPath[path][outcome]] as const)),
        ),
    });
  }

  /** Performs an act by calling `act`, and counts the outcome. */
  async counted(action: ActionName, path: ActPath, act: () => Promise<Done>): Promise<Done> {
    const counts = this.#counts.get(action)![path];
    try {
      const done = await act();
      counts[done.isReplayed ? 'replayed' : 'done']++;
      return done;
    } catch (error) {
      counts[isRefused(error) ? 'refused' : 'failed']++;
      throw error;
    }
  }
}

/** Whether an act was refused (its error has a 4xx code), and did not fail (5xx). */
function isRefused(error: unknown): boolean {
  return error instanceof SessionEnded || (error instanceof Refusal && errors[error.code as ErrorCode].status < 500);
}
