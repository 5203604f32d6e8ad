import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';

/**
 * The interval between two polls of a file, in milliseconds. A changed file is read once two polls in a row have seen the same state. So it
 * is not read while somebody is writing it.
 */
const POLL_MS = 500;

interface WatchedFileOptions<Content> {
  /** The name of the setting whose value is the path of the file. */
  readonly setting: string;
  readonly path: string;
  /** Makes the content from the file's text. @throws Error that names the invalid parts of the text */
  readonly parse: (text: string) => Content;
  /** Called after a valid change of the file. */
  readonly changed?: () => void;
  /** The name of the content in log lines: "NAME changed", "the old NAME stays". */
  readonly named: string;
  readonly log: Logger;
}

/**
 * A file that the operator edits. It is read at the start, and again when it changes. After an invalid edit the old content stays, and the
 * problem is logged. The service polls the file, because editors and volume mounts replace files in ways that file-system events miss.
 */
export class WatchedFile<Content> {
  readonly #options: WatchedFileOptions<Content>;
  readonly #path: string;
  #content: Content;
  #read: string;
  #seen: string;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @throws SettingError that names the file and its invalid parts */
  constructor(options: WatchedFileOptions<Content>) {
    this.#options = options;
    this.#path = resolve(options.path);
    try {
      // The signature is taken before the file is read, so that the next poll notices a change in between.
      this.#read = this.#seen = signatureOf(statSync(this.#path, { bigint: true }));
      this.#content = parseFile(this.#path, options.parse);
    } catch (error) {
      throw new SettingError(`${options.setting} ${this.#path}: ${(error as Error).message}`);
    }
    this.#pollLater();
  }

  /**
   * The problems of the file that a setting names; for the check of the settings. If the error of `parse` has several lines, each line is a
   * problem.
   */
  static problemsOf(setting: string, path: string | undefined, parse: (text: string) => unknown): string[] {
    if (path === undefined) return [];
    try {
      parseFile(resolve(path), parse);
      return [];
    } catch (error) {
      const { message, lines = [message] } = error as Error & { readonly lines?: readonly string[] };
      return lines.map((line) => `${setting} ${resolve(path)}: ${line}`);
    }
  }

  get content(): Content {
    return this.#content;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #pollLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#poll().then(() => this.#pollLater()), POLL_MS).unref();
  }

  async #poll(): Promise<void> {
    const { named, log, parse, changed } = this.#options;
    const file = this.#path;
    const signature = await stat(file, { bigint: true }).then(signatureOf, (error: Error) => error.message);
    const isStable = signature === this.#seen;
    this.#seen = signature;
    if (!isStable || signature === this.#read) return;
    this.#read = signature;
    try {
      this.#content = parse(withoutMark(await readFile(file, 'utf8')));
      log.info({ file }, `${named} changed`);
      changed?.();
    } catch (error) {
      log.error({ file, problem: (error as Error).message }, `the ${named} file is invalid: the old ${named} stays`);
    }
  }
}

interface FileState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: FileState): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function parseFile<Content>(path: string, parse: (text: string) => Content): Content {
  return parse(withoutMark(readFileSync(path, 'utf8')));
}

/** The text without the byte order mark, which some editors write. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}
