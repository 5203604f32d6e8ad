import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { defineFormat, whole } from '../../redis/text-format.ts';
import { roomKeys } from './model.ts';

/** When a process began, and when it last noted that it can take channels, in milliseconds since 1970. */
export const served = defineFormat('served', '<began> <last>', { began: whole, last: whole });

const servedScript = defineScript({
  file: new URL('channel-uptime.lua', import.meta.url),
  keys: ['served'],
  args: ['process', 'began', 'takes', 'gapMs', 'keptMs'],
  answers: ['since'],
  formats: [served],
});

/** How often each process notes that it can take channels, in milliseconds. */
const NOTE_INTERVAL_MS = 1000;

/** The time without a note after which no process could take channels, in milliseconds. One note may be late or lost. */
const GAP_MS = 2500;

/** How old the last note of this process may be for an answer of `since`, in milliseconds. The process may just have been suspended. */
const FRESH_MS = 1500;

/** How long Redis keeps a note, in milliseconds. A missing note is a gap too. */
const KEPT_MS = 60_000;

export interface ServedTimeOptions {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
  /** Whether this process takes no new channels any more. */
  readonly isDraining?: () => boolean;
  /** False while the private Redis would end at its next write. Then nothing is noted. Default: true */
  readonly mayWrite?: () => boolean;
}

/**
 * Knows since when a player could take a channel: while every process was down, or cut off from Redis, a player was away through no fault
 * of their own, and the grace of seats does not count this time. Each process notes in Redis, each second, that it can take channels: on a
 * Cluster in a key of each primary, because rooms of one primary may be without processes while another primary serves.
 */
export class ServedTime {
  readonly #options: ServedTimeOptions;
  readonly #since = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #process = randomBytes(9).toString('base64url');
  #began: number | undefined;
  /** When this process last noted that it can take channels, by the key, on the clock of `performance.now()`. */
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
   * Since when processes could take channels of the room with this key, in milliseconds since 1970.
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

  /** A key of each primary: of the keys that lie together, the one with the lowest tag. */
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
