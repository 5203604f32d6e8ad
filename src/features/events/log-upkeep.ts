import { DAY_MS } from '../coins/model.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { eventKeys } from './model.ts';

const logLibrary = new URL('log.lua', import.meta.url);

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
  args: [],
  answers: ['none', 'swept', 'done'],
  library: logLibrary,
});

/** A chunk is unlinked in some microseconds: so many a second are more than any service fills. */
const DROPPED_AT_ONCE = 20;
const DROP_MS = 1000;

/** A chunk takes Redis less than a millisecond: the sweep of 40,000 events a second costs it a few percent. */
const FORGET_MS = 25;

export interface UpkeepParts {
  readonly scripts: ScriptRunner;
  readonly config: { readonly EVENTS_DAYS: number };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the log needs beside new events: it drops old ones, and forgets what those of deleted accounts told. In small steps. */
export class LogUpkeep {
  readonly #parts: UpkeepParts;
  #droppedAt = -Infinity;
  #sweptAt = -Infinity;
  #isSweeping = false;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** Takes a step, if one is due. */
  async step(): Promise<void> {
    const { scripts, config, now } = this.#parts;
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
