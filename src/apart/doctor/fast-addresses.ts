import type { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
import { addressGrowthKey } from '../../features/coins/address-growth.ts';
import { dayOf } from '../../features/coins/model.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import type { Diagnosis } from './diagnosis.ts';

/** The most addresses that the report names for a day. */
const NAMED = 5;

const DAY_MS = 86_400_000;

/** Names the addresses that wrote the most ledger entries today and yesterday, from the records of the service's processes. */
export async function examineAddresses(
  redis: Redis,
  { LEDGER_ENTRIES_PER_DAY: budget }: Pick<Config, 'LEDGER_ENTRIES_PER_DAY'>,
  now: number,
  diagnosis: Diagnosis,
): Promise<void> {
  for (const [name, at] of [
    ['today', now],
    ['yesterday', now - DAY_MS],
  ] as const) {
    const words = await redis.zrevrange(addressGrowthKey(dayOf(at)), 0, NAMED - 1, 'WITHSCORES');
    const rows = pairsOf(words).map(([group, entries]) => [shown(group), Number(entries)] as const);
    if (rows.length === 0) continue;
    diagnosis.fact(`fastest addresses ${name}`, rows.map(([address, entries]) => `${address} (${entries} entries)`).join(', '));
    for (const [address, entries] of rows)
      if (budget > 0 && entries >= budget / 2)
        diagnosis.find('warning', 'fast_address', {
          text: `The address ${address} wrote ${entries} ledger entries ${name} (UTC). Its budget is ${budget} a day.`,
          cost: 'They stay forever unless LEDGER_RETENTION_DAYS is set. Past the budget all users of the address get 429 rate_limited.',
          mend: 'Refuse the address in your proxy, or lower LEDGER_ENTRIES_PER_DAY; raise it where a school or a provider shares the address',
        });
  }
}

/** The address group as a person writes it. Redis keeps the /64 of an IPv6 address as its first four groups. */
function shown(group: string): string {
  return group.includes(':') ? `${group}::/64` : group;
}
