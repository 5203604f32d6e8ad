import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** One credit, from its first try to its acknowledgement. Times are milliseconds since 1970. */
export interface Operation {
  readonly account: string;
  readonly key: string;
  readonly coins: number;
  readonly sentAt: number;
  /** Undefined until a try is answered with 200. */
  acknowledgedAt?: number;
  /** The body of the answer with 200. */
  answer?: { readonly balanceAfterCoins: number; readonly replayed?: true };
}

/**
 * Writes the history of a scenario as JSON lines, so that others can check it: `{"operation":…}` for each credit when it is
 * acknowledged, or at the end if it never was, and `{"event":…}` for each fault. Loads that send more than credits write further
 * lines with other names.
 */
export class History {
  readonly file: string;
  readonly operations: Operation[] = [];
  /** Undefined after `close`: after a failed scenario, answers to its requests may still arrive. */
  #open: number | undefined;

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, `${name}.jsonl`);
    this.#open = openSync(this.file, 'w');
  }

  event(event: string): void {
    this.note({ event });
  }

  note(line: object): void {
    this.#write({ ...line, at: now() });
  }

  /** Writes the errors that a service logged beside the history. */
  log(text: string): void {
    writeFileSync(this.file.replace(/jsonl$/, 'log'), text);
  }

  acknowledged(operation: Operation): void {
    this.#write({ operation });
  }

  close(): void {
    for (const operation of this.operations) if (operation.acknowledgedAt === undefined) this.#write({ operation });
    if (this.#open !== undefined) closeSync(this.#open);
    this.#open = undefined;
  }

  #write(line: object): void {
    if (this.#open !== undefined) writeSync(this.#open, `${JSON.stringify(line)}\n`);
  }
}

/** Milliseconds since 1970, with fractions. It never goes back. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Checks a condition until it is true, or until the time is over. @returns whether it became true */
export async function within(milliseconds: number, isTrue: () => boolean | Promise<boolean>, everyMs = 50): Promise<boolean> {
  for (const giveUpAt = now() + milliseconds; !(await isTrue()); await pause(everyMs)) if (now() > giveUpAt) return false;
  return true;
}
