import { expect, test } from 'vitest';
import type { Finding } from '../../src/consistency/auditor.ts';
import { forFile, start } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { seeded } from '../seeded.ts';
import { audited } from './audited.ts';
import { fillQueues, useData } from './damages/data.ts';
import { mend, nameOf } from './damages/mend.ts';
import { damages } from './damages/table.ts';

/** Ten lines of the table of damages. `damages.test.ts` tries all of them, and takes too long for each run of the tests. */

const SEED = 20_261_128;
const LINES = 10;

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));
useData(service, own.redis);

test('an audit has one finding for each of ten damages, and its advice puts right what it promises', async () => {
  const draw = seeded(SEED);
  const lines = Object.entries(damages)
    .map(([name, damage]) => ({ name, damage, place: draw() }))
    .toSorted((one, other) => one.place - other.place)
    .slice(0, LINES);
  await fillQueues();
  const expected: { name: string; finding: Pick<Finding, 'kind' | 'subject'>; mends: boolean }[] = [];
  for (const { name, damage } of lines)
    expected.push({ name, finding: { kind: damage.kind, subject: await damage.make() }, mends: damage.mends === true });
  const { findings } = await audited(own.location);
  expect(findings.map(nameOf).toSorted()).toEqual(expected.map(({ finding }) => nameOf(finding)).toSorted());
  const left = expected.filter(({ mends }) => !mends).map(({ finding }) => nameOf(finding));
  await mend(
    findings,
    findings.filter((finding) => left.includes(nameOf(finding))),
    own.location,
  );
});
