import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { eventKeys } from '../../../src/features/events/model.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { EventsOf } from './reading.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { EVENTS: 'on' } }));
// The ledgers' entries are then ten minutes old. The audit skips entries that are newer than a minute.
service.setClock(-600_000);

test('an audit compares the events of a sample of accounts with their ledgers, both ways', async () => {
  const events = await EventsOf.from(service);
  const [clean, told, untold] = [freshId(), freshId(), freshId()];
  for (const installId of [clean, told, untold])
    for (const key of ['a', 'b']) await service.post('/v1/coins/credit', { installId, coins: 1, key });
  await events.of([clean, told, untold].map(accountIdOf), 9);
  await own.redis.hset(eventKeys.state, 'onSince', 0);
  const before = await audited(own.location);
  expect([before.findings, before.counts.checked['events'], before.counts.unknown]).toEqual([[], 9, {}]);
  // The ledger of one account loses its newest entry, and the log loses an event of another account.
  await own.redis.rpop(coinKeys.ledger(accountIdOf(told)));
  const chunk = eventKeys.chunk(0);
  const lost = (await own.redis.lrange(chunk, 0, -1)).find(
    (entry) => entry.startsWith('c ') && entry.includes(`${accountIdOf(untold)} 3 `),
  )!;
  await own.redis.lset(chunk, (await own.redis.lrange(chunk, 0, -1)).indexOf(lost), lost.replace(/^c/, 'n'));
  const { findings } = await audited(own.location);
  const found = findings.map(({ kind, subject }) => `${kind} ${subject}`);
  expect(found).toContain(`event_without_entry account ${accountIdOf(told)}`);
  expect(found).toContain(`entry_without_event account ${accountIdOf(untold)}`);
  expect(found.filter((finding) => finding.includes(accountIdOf(clean)))).toEqual([]);
});
