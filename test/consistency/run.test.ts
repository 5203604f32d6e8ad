import { expect, test } from 'vitest';
import type { Auditor, Command, Finding } from '../../src/consistency/auditor.ts';
import { newCounts } from '../../src/consistency/counts.ts';
import { runAudit } from '../../src/consistency/run.ts';

const finding = (subject: string, kind = 'wrong'): Finding => ({ kind, subject, text: 'It is wrong.' });

/** Redis's answer to PTTL for a key that does not exist. */
const NO_KEY = -2;

/** Audits these pages of keys, which a Redis without data gives. */
async function run(auditors: Auditor[], pages: string[][]): Promise<{ findings: Finding[]; counts: ReturnType<typeof newCounts> }> {
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
  await runAudit({ auditors, reader, counts, found: (each) => void findings.push(each), signal: new AbortController().signal });
  return { findings, counts };
}

test('a check that runs once reports its drift', async () => {
  const { findings } = await run([{ keys: [], once: async () => [finding('version')] }], [[]]);
  expect(findings).toEqual([finding('version')]);
});

test('a key that SCAN gives twice is reported once', async () => {
  const { findings, counts } = await run([{ keys: [{ pattern: /^a$/, check: async () => [finding('a')] }] }], [['a'], ['a', 'a']]);
  expect(findings).toEqual([finding('a')]);
  expect(counts.drift).toBe(1);
});

test.each(['ends', 'lasts'] as const)('a key that %s and is gone when its life is checked is no drift', async (life) => {
  const { findings, counts } = await run([{ keys: [{ pattern: /^a$/, life }] }], [['a']]);
  expect(findings).toEqual([]);
  expect([counts.keys, counts.unsettled]).toEqual([1, 0]);
});

test('only drift that every look has seen is reported', async () => {
  const looks: Record<string, number> = {};
  // "late" is right at the last look, "other" is wrong in another way with each look, "always" is wrong in the same way.
  const check = async ([name]: readonly string[]): Promise<Finding[]> => {
    const look = (looks[name!] = (looks[name!] ?? 0) + 1);
    if (name === 'late' && look === 5) return [];
    return [finding(name!, name === 'other' ? `wrong ${look}` : 'wrong')];
  };
  const { findings } = await run([{ keys: [{ pattern: /^(late|other|always)$/, check }] }], [['late', 'other', 'always']]);
  expect(findings).toEqual([finding('always')]);
  expect(looks).toEqual({ late: 5, other: 2, always: 5 });
});

test('several checks of one pattern all run, and keys without a check are counted by their form', async () => {
  const checked: string[] = [];
  const check = (name: string) => async (): Promise<undefined> => void checked.push(name);
  const keys = [
    { pattern: /^k$/, counted: 'things', check: check('first') },
    { pattern: /^k$/, check: check('second') },
  ];
  const { counts } = await run([{ keys }], [['k', '{x}:other:1', '{y}:other:22', 'constructor']]);
  expect(checked).toEqual(['first', 'second']);
  expect(counts.checked).toEqual({ things: 1 });
  expect({ ...counts.unknown }).toEqual({ '{…}:other:n': 2, constructor: 1 });
});

test('a finding that another one explains is counted there, whichever comes first, and equal findings are one with all their commands', async () => {
  const named = (name: string): Finding => ({ kind: 'lost', subject: 'board', text: 'It is lost.', commands: [['SADD', name, 'board']] });
  const follows = (name: string): Finding => ({ ...finding(`account ${name}`), explainedBy: ['board'] });
  const keys = [
    { pattern: /^(a|b)$/, check: async ([name]: readonly string[]) => [follows(name!)] },
    { pattern: /^(c|d)$/, check: async ([name]: readonly string[]) => [named(name!)] },
    { pattern: /^(e)$/, check: async () => [{ ...finding('account e'), explainedBy: ['another board'] }] },
  ];
  const { findings, counts } = await run(
    [{ keys }],
    [
      ['a', 'c', 'e'],
      ['d', 'b'],
    ],
  );
  const commands = [
    ['SADD', 'c', 'board'],
    ['SADD', 'd', 'board'],
  ];
  expect(findings).toEqual([
    { kind: 'lost', subject: 'board', text: 'It is lost. 2 more findings follow from it.', commands },
    finding('account e'),
  ]);
  expect(counts.drift).toBe(2);
});

test('a key of the wrong type is one finding with its type, and the check goes on and keeps counting', async () => {
  const findings: Finding[] = [];
  const counts = newCounts();
  const ask = async ([command, key]: Command) => {
    if (command === 'DBSIZE') return 1;
    if (command === 'SCAN') return ['0', ['k']];
    if (command === 'TYPE') return key === '{x}:list' ? 'string' : 'hash';
    if (key === '{x}:list') throw new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
    return '5';
  };
  const reader = { ask, atomically: (commands: readonly Command[]) => Promise.all(commands.map(ask)) };
  const check: NonNullable<Auditor['keys'][number]['check']> = async (_, look) => {
    const [last, read] = await look.together(['LINDEX', '{x}:list', -1], ['HGET', '{y}:hash', 'field']);
    look.count('reads', Number(read));
    return [...(last === null ? [finding('account x')] : []), finding('account y')];
  };
  const auditors = [{ keys: [{ pattern: /^k$/, check }] }];
  await runAudit({ auditors, reader, counts, found: (each) => void findings.push(each), signal: new AbortController().signal });
  const text = 'Its type in Redis is string, and coinop keeps a list there. 1 more finding follows from it.';
  expect(findings).toEqual([{ kind: 'wrong_type', subject: 'key {x}:list', text }, finding('account y')]);
  expect(counts.checked).toEqual({ reads: 5 });
});

test('an error of a check ends the audit', async () => {
  const keys = [{ pattern: /^k$/, check: () => Promise.reject(new Error('lost')) }];
  await expect(run([{ keys }], [['k']])).rejects.toThrow('lost');
});
