import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { Encoded } from '../../../server/http/endpoint.ts';
import { LruCache } from '../../../server/lru-cache.ts';
import { listedJson } from './list-model.ts';
import { readChangedPage, type Page, type PageQuery } from './page.ts';

/** Bounds the memory of kept pages to some 8 MB: a page of the longest tags has 80 KB with its answer, one of usual rooms 5. */
const KEPT_PAGES = 100;

/** A page, and the answer that has this page alone: it is made when it is first wanted. */
export class AnsweredPage {
  readonly page: Page;
  #answer: Encoded | undefined;

  constructor(page: Page) {
    this.page = page;
  }

  get answer(): Encoded {
    return (this.#answer ??= new Encoded(this.#text()));
  }

  #text(): string {
    const { rooms, next } = this.page;
    const texts = rooms.map(([entry, summary]) => listedJson(entry, summary));
    return `{"ok":true,"rooms":[${texts.join(',')}]${next === '' ? '' : `,"nextCursor":"${next}"`}}`;
  }
}

/**
 * The first pages of lists, as this process read them last. Each request asks Redis for the version of its list, and gets the page only if the
 * list has changed: so an answer is never older than its request. A room that nobody renews leaves at the end of its time, without a change
 * of the version, so a page counts until then. Redis reads a page of 20 rooms in 33 µs and a version in 4.
 */
export class FirstPages {
  readonly #scripts: ScriptRunner;
  readonly #now: () => number;
  /** By what a request asks for. */
  readonly #kept = new LruCache<string, AnsweredPage>(KEPT_PAGES);

  constructor(parts: { readonly scripts: ScriptRunner; readonly now: () => number }) {
    this.#scripts = parts.scripts;
    this.#now = parts.now;
  }

  async read(asked: Omit<PageQuery, 'from'>): Promise<AnsweredPage> {
    const key = `${asked.game} ${asked.limit} ${asked.needles}`;
    const kept = this.#kept.get(key);
    const isOver = kept === undefined || this.#now() >= (kept.page.endsAt ?? Infinity);
    const page = await readChangedPage({ ...asked, from: '', known: isOver ? '' : kept.page.version }, this.#scripts);
    if (page === undefined) return kept!;
    const found = new AnsweredPage(page);
    // The reader of this page has its lapsed entries removed. Later ones need not.
    this.#kept.set(key, page.lapsed === 0 ? found : new AnsweredPage({ ...page, lapsed: 0 }));
    return found;
  }
}
