import { expect, test } from 'vitest';
import type { Auditor, Command, Finding } from '../../src/consistency/auditor.ts';
import { newCounts } from '../../src/consistency/counts.ts';
import { runAudit } from '../../src/consistency/run.ts';

const finding = (subject: string, kind = 'wrong'): Finding => ({ kind, subject, text: 'It is wrong.' });

/** Redis's answer to PTTL for a key that does not exist. */
const NO_KEY = -2;

/** Audits these pages of keys, which a Redis without data gives. */
async function run(key: Omit<Auditor['keys'][number], 'pattern'>, pages: string[][]) {
  const findings: Finding[] = [];
  const counts = newCounts();
  const reader = {
    async ask([command, cursor]: Command) {
      if (command === 'DBSIZE') return pages.flat().length;
      if (command === 'TIME') return ['1795862400', '0'];
      if (command === 'PTTL') return NO_KEY;
      const page = Number(cursor);
      return [page + 1 === pages.length ? '0' : String(page + 1), pages[page]!];
    },
    atomically: () => Promise.reject(new Error('not asked here')),
  };
  const [auditors, { signal }] = [[{ keys: [{ pattern: /^(.*)$/, ...key }] }], new AbortController()];
  await runAudit({ auditors, reader, counts, found: (each) => void findings.push(each), signal });
  return { findings, counts };
}

test('a key that SCAN gives twice is reported once', async () => {
  const { findings, counts } = await run({ check: async () => [finding('a')] }, [['a'], ['a', 'a']]);
  expect([findings, counts.drift]).toEqual([[finding('a')], 1]);
});

test.each(['ends', 'lasts'] as const)('a key that %s and is gone when its life is checked is no drift', async (life) => {
  const { findings, counts } = await run({ life }, [['a']]);
  expect([findings, counts.keys, counts.unsettled]).toEqual([[], 1, 0]);
});

test('only drift that every probe has seen is reported', async () => {
  const looks: Record<string, number> = {};
  // "late" is right at the last look, "other" is wrong in another way with each look, "always" is wrong in the same way.
  const check = async ([name]: readonly string[]): Promise<Finding[]> => {
    const look = (looks[name!] = (looks[name!] ?? 0) + 1);
    if (name === 'late' && look === 5) return [];
    return [finding(name!, name === 'other' ? `wrong ${look}` : 'wrong')];
  };
  const { findings } = await run({ check }, [['late', 'other', 'always']]);
  expect([findings, looks]).toEqual([[finding('always')], { late: 5, other: 2, always: 5 }]);
});
