import { DAY_MS } from '../coins/model.ts';
import { defineLibrary, defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { eventKeys } from './model.ts';

const logLibrary = defineLibrary(new URL('log.lua', import.meta.url));

const dropEvents = defineScript({
  file: new URL('drop-events.lua', import.meta.url),
  keys: ['state', 'chunks'],
  args: ['before', 'most'],
  answers: ['dropped'],
  library: logLibrary,
});

const forgetEvents = defineScript({
  file: new URL('forget-events.lua', import.meta.url),
  keys: ['state', 'chunks', 'forgotten'],
  answers: ['none', 'swept', 'done'],
  library: logLibrary,
});

/** The most chunks that one step drops. Redis unlinks a chunk in a few microseconds. */
const DROPPED_AT_ONCE = 20;

/** Milliseconds between two steps. One step each second is enough, because no service fills DROPPED_AT_ONCE chunks in a second. */
const DROP_MS = 1000;

/**
 * The time between two steps of a sweep, in milliseconds. Redis sweeps a chunk in less than a millisecond, so sweeping a log of 40,000
 * events a second costs a few percent of Redis's time.
 */
const FORGET_MS = 25;

export interface LogUpkeepOptions {
  readonly scripts: ScriptRunner;
  readonly config: { readonly EVENTS_DAYS: number };
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Drops events that are older than EVENTS_DAYS, and removes the data of deleted accounts from the log, in small steps. */
export class LogUpkeep {
  readonly #options: LogUpkeepOptions;
  #droppedAt = -Infinity;
  #sweptAt = -Infinity;
  #isSweeping = false;

  constructor(options: LogUpkeepOptions) {
    this.#options = options;
  }

  /** Drops old chunks of the log, and removes data of deleted accounts from one chunk. Does each of these only if its interval is over. */
  async step(): Promise<void> {
    const { scripts, config, now } = this.#options;
    const { state, chunks, forgotten } = eventKeys;
    const tick = performance.now();
    if (tick > this.#droppedAt + DROP_MS) {
      this.#droppedAt = tick;
      await scripts.run(dropEvents, { state, chunks }, { before: (now() - config.EVENTS_DAYS * DAY_MS) * 1000, most: DROPPED_AT_ONCE });
    }
    if (tick > this.#sweptAt + (this.#isSweeping ? FORGET_MS : DROP_MS)) {
      this.#sweptAt = tick;
      const [word] = await scripts.run(forgetEvents, { state, chunks, forgotten }, {});
      this.#isSweeping = word === 'swept';
    }
  }
}
