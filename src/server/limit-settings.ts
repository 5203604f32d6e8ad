import type { Config } from '../config.ts';
import { DailyBudget } from './daily-budget.ts';
import { Admission } from './admission.ts';
import { OwnReservations, type Daily, type DailyBounds, type ReservationBounds, type Reservations } from './reservations.ts';

/**
 * @param reservations counts for all workers of the service together; default: this process counts for itself
 * @param monotonic a monotonic clock, in milliseconds
 */
export function admissionOf(config: Config, reservations: Reservations | undefined, monotonic: () => number): Admission {
  const counted = reservations ?? new OwnReservations(reservationBounds(config), monotonic);
  const bounds = dailyBounds(config);
  const budget = (kind: Daily) => (bounds[kind] === undefined ? undefined : new DailyBudget(kind, bounds[kind], counted));
  return new Admission({
    requests: unlessOff(config, { perSecond: config.RATE_LIMIT_PER_SECOND, burst: config.RATE_LIMIT_BURST }),
    actsPerSecond: config.RATE_LIMIT_ACTS_PER_SECOND,
    keyedPerSecond: config.RATE_LIMIT_SERVER_KEY_PER_SECOND,
    uncountedPerSecond: config.RATE_LIMIT_UNCOUNTED_PER_SECOND,
    maxInFlight: config.MAX_IN_FLIGHT,
    reservations: counted,
    daily: { entries: budget('entries'), saveBytes: budget('saveBytes') },
    monotonic,
  });
}

/** The bounds on reservations for client addresses. They hold for all workers of a service together. */
export function reservationBounds(config: Config): ReservationBounds {
  const { RATE_LIMIT_CREATIONS_PER_MINUTE: creations, RATE_LIMIT_MISSES_PER_MINUTE: misses, SOCKETS_PER_ADDRESS: sockets } = config;
  return { perMinute: unlessOff(config, { creations, misses }), sockets, perDay: dailyBounds(config) };
}

/** The daily budgets, without those whose setting is 0. */
function dailyBounds(config: Config): DailyBounds {
  const bound = (perDay: number) => (perDay === 0 ? undefined : unlessOff(config, perDay));
  return { entries: bound(config.LEDGER_ENTRIES_PER_DAY), saveBytes: bound(config.SAVE_BYTES_PER_DAY) };
}

/** The given limits of a client address, or undefined with RATE_LIMIT=off. */
export function unlessOff<Limits>({ RATE_LIMIT }: Config, limits: Limits): Limits | undefined {
  return RATE_LIMIT === 'off' ? undefined : limits;
}
