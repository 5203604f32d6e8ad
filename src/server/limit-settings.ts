import type { Config } from '../config.ts';
import { EntryBudget } from './entry-budget.ts';
import { Admission } from './admission.ts';
import { OwnReservations, type ReservationBounds, type Reservations } from './reservations.ts';

/**
 * @param reservations counts for all workers of the service together; default: this process counts for itself
 * @param monotonic a monotonic clock, in milliseconds
 */
export function admissionOf(config: Config, reservations: Reservations | undefined, monotonic: () => number): Admission {
  const counted = reservations ?? new OwnReservations(reservationBounds(config), monotonic);
  const entriesPerDay = entriesOf(config);
  return new Admission({
    requests: unlessOff(config, { perSecond: config.RATE_LIMIT_PER_SECOND, burst: config.RATE_LIMIT_BURST }),
    actsPerSecond: config.RATE_LIMIT_ACTS_PER_SECOND,
    keyedPerSecond: config.RATE_LIMIT_SERVER_KEY_PER_SECOND,
    uncountedPerSecond: config.RATE_LIMIT_UNCOUNTED_PER_SECOND,
    maxInFlight: config.MAX_IN_FLIGHT,
    reservations: counted,
    entries: entriesPerDay === undefined ? undefined : new EntryBudget(entriesPerDay, counted),
    monotonic,
  });
}

/** The bounds on what client addresses may reserve, which hold for all workers of a service together. */
export function reservationBounds(config: Config): ReservationBounds {
  const { RATE_LIMIT_CREATIONS_PER_MINUTE: creations, RATE_LIMIT_MISSES_PER_MINUTE: misses, SOCKETS_PER_ADDRESS: sockets } = config;
  return { perMinute: unlessOff(config, { creations, misses }), sockets, entriesPerDay: entriesOf(config) };
}

function entriesOf(config: Config): number | undefined {
  return config.LEDGER_ENTRIES_PER_DAY === 0 ? undefined : unlessOff(config, config.LEDGER_ENTRIES_PER_DAY);
}

/** The given limits of a client address, or undefined with RATE_LIMIT=off. */
export function unlessOff<Limits>({ RATE_LIMIT }: Config, limits: Limits): Limits | undefined {
  return RATE_LIMIT === 'off' ? undefined : limits;
}
