import type { LoadNews } from '../load/order.ts';
import { numberText } from './table.ts';

/** Lines on how a load goes, one a second. */
export class News {
  #before: LoadNews | undefined;

  line(news: LoadNews): string {
    // A new load counts from nothing.
    const before =
      this.#before !== undefined && this.#before.sent <= news.sent && this.#before.seconds < news.seconds ? this.#before : undefined;
    this.#before = news;
    const since = (news.sent - (before?.sent ?? 0)) / (news.seconds - (before?.seconds ?? 0));
    return `  ${numberText(news.seconds, 0)} s: ${numberText(news.sent, 0)} requests, ${numberText(since, 0)}/s; ${answersText(news.answers)}`;
  }
}

/** How often each status came, then the errors, if any. */
export function answersText(answers: Readonly<Record<string, number>>): string {
  const counted = ([what, times]: [string, number]): string => `${what}: ${numberText(times, 0)}`;
  const isStatus = ([what]: [string, number]): boolean => what.startsWith('status ');
  const entries = Object.entries(answers);
  const statuses = entries.filter(isStatus).toSorted().map(counted);
  const errors = entries.filter((entry) => !isStatus(entry)).map(counted);
  return `${statuses.join(', ') || 'nothing answered'}; ${errors.length === 0 ? 'no errors' : `errors: ${errors.join(', ')}`}`;
}
