import type { LoadNews } from '../load/order.ts';
import { numberText } from './numbers.ts';

/** Turns the news of a load into lines for the terminal. */
export class News {
  #before: LoadNews | undefined;

  line(news: LoadNews): string {
    // Lower counts mean that a new load has started, which counts from zero.
    const before =
      this.#before !== undefined && this.#before.sent <= news.sent && this.#before.seconds < news.seconds ? this.#before : undefined;
    this.#before = news;
    const since = (news.sent - (before?.sent ?? 0)) / (news.seconds - (before?.seconds ?? 0));
    return `  ${numberText(news.seconds, 0)} s: ${numberText(news.sent, 0)} requests, ${numberText(since, 0)}/s; ${answersText(news.answers)}`;
  }
}

/** The counts of each status, then of each error. */
export function answersText(answers: Readonly<Record<string, number>>): string {
  const counted = ([what, times]: [string, number]): string => `${what}: ${numberText(times, 0)}`;
  const isStatus = ([what]: [string, number]): boolean => what.startsWith('status ');
  const entries = Object.entries(answers);
  const statuses = entries.filter(isStatus).toSorted().map(counted);
  const errors = entries.filter((entry) => !isStatus(entry)).map(counted);
  return `${statuses.join(', ') || 'no responses'}; ${errors.length === 0 ? 'no errors' : `errors: ${errors.join(', ')}`}`;
}
