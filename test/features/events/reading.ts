import type { EventRecord } from '../../../src/features/events/model.ts';
import type { TestService } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';

/** Reads the events of a service with a separate server key. */
export class EventsOf {
  readonly #service: TestService;
  readonly token: string;
  cursor = '';

  private constructor(service: TestService, token: string) {
    this.#service = service;
    this.token = token;
  }

  /** Begins after the present events, because all test files share one Redis. */
  static async from(service: TestService): Promise<EventsOf> {
    const { token } = await makeServerKey(service, ['events']);
    const events = new EventsOf(service, token);
    await events.skip();
    return events;
  }

  get(query = '') {
    return this.#service.get(`/v1/events${query}`, { bearer: this.token });
  }

  /** Skips the present events. */
  async skip(): Promise<void> {
    while ((await this.next()).length > 0);
  }

  /** The next events, without waiting. */
  async next(more = ''): Promise<EventRecord[]> {
    const { body } = await this.get(`?limit=1000${this.cursor === '' ? '' : `&after=${this.cursor}`}${more}`);
    this.cursor = body.cursor;
    return body.events;
  }

  /** Reads on until there are this many events of these accounts, and returns them. */
  async of(accountIds: readonly string[], count: number): Promise<EventRecord[]> {
    const found: EventRecord[] = [];
    await eventually(async () => {
      found.push(...(await this.next()).filter(({ accountId }) => accountId !== undefined && accountIds.includes(accountId)));
      return found.length >= count;
    });
    return found;
  }

  /** Another reader, which begins at the same place. */
  another(): EventsOf {
    const other = new EventsOf(this.#service, this.token);
    other.cursor = this.cursor;
    return other;
  }
}

/** `coins.changed 3 {"coins":1}`, for a comparison by hand. */
export const told = ({ type, number, data }: EventRecord): string => `${type} ${number ?? '-'} ${JSON.stringify(data)}`;
