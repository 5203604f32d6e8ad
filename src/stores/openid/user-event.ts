import { z } from 'zod';
import type { Metrics } from '../../server/metrics.ts';
import type { Provider } from './provider.ts';

/** An event in the account that a user has with a provider. */
export interface UserEvent {
  readonly provider: Provider;
  readonly type: string;
  /** The provider's own id of the user, as in `Identity`. */
  readonly subject: string;
  /** When the event happened, in milliseconds since 1970, by the provider's clock. */
  readonly at: number;
}

/** From this number on an `event_time` is in milliseconds: read as seconds it would be in the year 5138. Apple's example has seconds. */
const LEAST_MS = 1e11;

/** https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts */
const Event = z.object({
  type: z.string().max(64),
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  event_time: z.number().min(0).max(Number.MAX_SAFE_INTEGER),
});

/** Parses the claim `events`, whose value is JSON in a text. Undefined: it is not understood. */
export function eventIn(events: string): Omit<UserEvent, 'provider'> | undefined {
  try {
    const { type, sub, event_time: time } = Event.parse(JSON.parse(events));
    return { type, subject: sub, at: time < LEAST_MS ? time * 1000 : time };
  } catch {
    return undefined;
  }
}

/** The types of events that Apple names. Apple's older texts have `account-delete`. */
export const USER_EVENTS = ['consent-revoked', 'account-delete', 'account-deleted', 'email-enabled', 'email-disabled'] as const;

/** The notifications about users' accounts that a process has received, for the metrics. */
export class UserEventCounts {
  // Every type is counted from 0 on, because Prometheus sees no increase in a series that starts at 1.
  readonly #counts = new Map<string, number>([...USER_EVENTS, 'unknown'].map((type) => [type, 0]));

  constructor(metrics: Metrics) {
    metrics.countBy({
      name: 'coinop_apple_account_notifications_total',
      help: 'Notifications of Sign in with Apple that were verified, by type. Types that the service does not know count as unknown.',
      label: 'type',
      counts: () => [...this.#counts],
    });
  }

  count(type: string): void {
    const known = USER_EVENTS.find((event) => event === type) ?? 'unknown';
    this.#counts.set(known, (this.#counts.get(known) ?? 0) + 1);
  }
}
