import type { Config } from '../../config.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { NodeFacts } from './redis-node.ts';

/**
 * Compares the number of a primary's replicas with two other numbers: how many replicas coin operations wait for, and how many Redis
 * requires for a write.
 * @returns the number of replicas that are online
 */
export function examineReplicas(
  { info, settings, client }: NodeFacts,
  { REDIS_WAIT_REPLICAS }: Config,
  diagnosis: Diagnosis,
  node?: string,
): number {
  const lines = [...info].filter(([name]) => /^slave\d+$/.test(name)).map(([, line]) => line);
  const online = lines.filter((line) => /\bstate=online\b/.test(line)).length;
  const wanted = REDIS_WAIT_REPLICAS;
  const [replicas, verb] = online === 1 ? ['1 replica', 'follows'] : [`${online} replicas`, 'follow'];
  if (online < wanted)
    diagnosis.find(
      'danger',
      'too_few_replicas',
      {
        text: `Coin operations wait for ${wanted} ${wanted === 1 ? 'replica' : 'replicas'} (REDIS_WAIT_REPLICAS), and ${replicas} ${verb} Redis.`,
        cost: 'Every coin operation, move, purchase and sign-out waits 1.5 s and then gets 503 with outcome unknown.',
        mend: `Bring the replicas back, or REDIS_WAIT_REPLICAS=${online} for the time being`,
      },
      node,
    );
  else if (wanted > 0 && online === wanted)
    diagnosis.find(
      'warning',
      'no_spare_replica',
      {
        text: `Coin operations wait for ${wanted} of ${replicas} (REDIS_WAIT_REPLICAS).`,
        cost: 'When one replica stops, all coin operations get 503 with outcome unknown.',
        mend: 'One more replica than REDIS_WAIT_REPLICAS',
      },
      node,
    );
  else if (wanted === 0 && online > 0)
    diagnosis.find(
      'note',
      'no_wait',
      {
        text: 'Redis has replicas, but coin operations wait for none of them (REDIS_WAIT_REPLICAS=0).',
        cost: 'A failover can lose the last acknowledged coin operations, because replication is asynchronous.',
        mend: 'REDIS_WAIT_REPLICAS=1 with two replicas (docs/scale-out.md#what-a-failover-can-cost)',
      },
      node,
    );
  const least = Number(settings?.get('min-replicas-to-write') ?? 0);
  if (least > online)
    diagnosis.find(
      'danger',
      'min_replicas',
      {
        text: `Redis refuses writes with fewer than ${least} replicas (min-replicas-to-write), and ${replicas} ${verb} it.`,
        cost: 'Everything that writes is 503.',
        mend: `Bring the replicas back, or ${client} CONFIG SET min-replicas-to-write 0`,
      },
      node,
    );
  return online;
}
