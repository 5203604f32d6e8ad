import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { defineFormat, whole } from '../../redis/text-format.ts';
import { roomKeys } from './model.ts';

/** The time at which a process began, and the time at which it last noted that it can accept channels, in milliseconds since 1970. */
export const served = defineFormat('served', '<began> <last>', { began: whole, last: whole });

const servedScript = defineScript({
  file: new URL('channel-uptime.lua', import.meta.url),
  keys: ['served'],
  args: ['process', 'began', 'takes', 'gapMs', 'keptMs'],
  answers: ['since'],
  formats: [served],
});

/** The interval at which each process notes that it can accept channels, in milliseconds. */
const NOTE_INTERVAL_MS = 1000;

/** If there is no note for this long, in milliseconds, no process could accept channels in that time. One note may be late or lost. */
const GAP_MS = 2500;

/**
 * `since` only answers if the last note of this process is at most this old, in milliseconds. An older note may mean that the process was
 * suspended.
 */
const FRESH_MS = 1500;

/** How long Redis keeps a note, in milliseconds. A missing note is a gap too. */
const KEPT_MS = 60_000;

export interface ServedTimeOptions {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
  /** Whether this process does not accept new channels any more. */
  readonly isDraining?: () => boolean;
  /** False while the private Redis would end at its next write: nothing is noted then. Default: true */
  readonly mayWrite?: () => boolean;
}

/**
 * Knows the time since which players could always open a channel. While every process was down, or cut off from Redis, players were away
 * through no fault of their own, and this time does not count for the grace of their seats. Each process notes in Redis every second that
 * it can accept channels. On a Cluster it notes this in a key of each primary, because one primary may be cut off while another serves.
 */
export class ServedTime {
  readonly #options: ServedTimeOptions;
  readonly #since = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #process = randomBytes(9).toString('base64url');
  #began: number | undefined;
  /** For each key, the time at which this process last noted that it can accept channels, on the clock of `performance.now()`. */
  readonly #notedAt = new Map<string, number>();

  constructor(options: ServedTimeOptions) {
    this.#options = options;
    const note = (): void => {
      if (options.mayWrite?.() !== false) this.#noteAll().catch((error: unknown) => this.#failed(error));
    };
    this.#timer = setInterval(note, NOTE_INTERVAL_MS);
    setImmediate(note);
  }

  /**
   * The time since which processes could always accept channels of the room with this key, in milliseconds since 1970.
   * @throws Error if Redis does not answer
   */
  async since(roomKey: string): Promise<number> {
    const { scripts } = this.#options;
    const all = this.#keys();
    const near = all.filter((key) => scripts.areTogether(key, roomKey));
    const keys = near.length === 0 ? all : near;
    const oldest = performance.now() - FRESH_MS;
    await Promise.all(keys.filter((key) => !((this.#notedAt.get(key) ?? -Infinity) > oldest)).map((key) => this.#note(key)));
    return Math.max(...keys.map((key) => this.#since.get(key)!));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #noteAll(): Promise<void> {
    await Promise.all(this.#keys().map((key) => this.#note(key)));
  }

  async #note(key: string): Promise<void> {
    const { scripts, isDraining, now } = this.#options;
    const at = performance.now();
    this.#began ??= Math.round(now());
    const takes = isDraining?.() === true ? '' : '1';
    const args = { process: this.#process, began: this.#began, takes, gapMs: GAP_MS, keptMs: KEPT_MS };
    const [, since] = await scripts.run(servedScript, { served: key }, args);
    this.#since.set(key, Number(since));
    this.#notedAt.set(key, at);
  }

  /** One key for each primary: of the keys that are on the same primary, the key with the lowest tag. */
  #keys(): string[] {
    const { scripts } = this.#options;
    const chosen: string[] = [];
    for (let tag = 0; tag < scripts.queueTags; tag++) {
      const key = roomKeys.served(tag);
      if (!chosen.some((other) => scripts.areTogether(other, key))) chosen.push(key);
    }
    return chosen;
  }

  #failed(error: unknown): void {
    this.#options.log.debug({ reason: (error as Error).message }, 'could not note that this process takes channels');
  }
}
