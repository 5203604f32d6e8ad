import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { Encoded } from '../../../server/http/endpoint.ts';
import { LruCache } from '../../../server/lru-cache.ts';
import { listedJson } from './list-model.ts';
import { readChangedPage, type Page, type PageQuery } from './page.ts';

/** The most pages in the cache: at most 8 MB. A page with the longest tags takes 80 KB with its answer, an ordinary page 5 KB. */
const KEPT_PAGES = 100;

/** A page of a list, and the answer to a request for exactly this page. The answer is made when it is first needed. */
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
 * Caches the first pages of lists. For each request the process asks Redis for the version of the list, and gets the page only if the list
 * has changed. So an answer is never older than its request. If an entry is not renewed, it leaves the list at a known time, without a
 * change of the version. So a cached page is valid only until the first of its entries leaves the list. Redis reads a page of 20 rooms in
 * 33 µs, and a version in 4 µs.
 */
export class FirstPages {
  readonly #scripts: ScriptRunner;
  readonly #now: () => number;
  /** The cached pages by game, limit and filter of the request. */
  readonly #kept = new LruCache<string, AnsweredPage>(KEPT_PAGES);

  constructor(services: { readonly scripts: ScriptRunner; readonly now: () => number }) {
    this.#scripts = services.scripts;
    this.#now = services.now;
  }

  async read(asked: Omit<PageQuery, 'from'>): Promise<AnsweredPage> {
    const key = `${asked.game} ${asked.limit} ${asked.needles}`;
    const kept = this.#kept.get(key);
    const isOver = kept === undefined || this.#now() >= (kept.page.endsAt ?? Infinity);
    const page = await readChangedPage({ ...asked, from: '', known: isOver ? '' : kept.page.version }, this.#scripts);
    if (page === undefined) return kept!;
    const found = new AnsweredPage(page);
    // The first reader of this page starts the removal of lapsed entries (`sweep`). The cached page says that there are none, so that later
    // readers do not start it again.
    this.#kept.set(key, page.lapsed === 0 ? found : new AnsweredPage({ ...page, lapsed: 0 }));
    return found;
  }
}
