import { createWriteStream, mkdirSync, writeFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';

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
  #stream: WriteStream | undefined;

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, `${name}.jsonl`);
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

  async close(): Promise<void> {
    for (const operation of this.operations) if (operation.acknowledgedAt === undefined) this.#write({ operation });
    await new Promise<void>((resolve) => (this.#stream === undefined ? resolve() : this.#stream.end(() => resolve())));
  }

  #write(line: object): void {
    this.#stream ??= createWriteStream(this.file);
    // After a failed scenario, answers to its requests may still arrive.
    if (!this.#stream.writableEnded) this.#stream.write(`${JSON.stringify(line)}\n`);
  }
}

/** Milliseconds since 1970, with fractions. It never goes back. */
export const now = (): number => performance.timeOrigin + performance.now();
