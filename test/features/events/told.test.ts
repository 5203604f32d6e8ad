import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = new URL('../../../src/', import.meta.url);
const scripts = globSync('**/*.lua', { cwd: fileURLToPath(source) }).map(
  (file) => [file, readFileSync(new URL(file, source), 'utf8')] as const,
);
const filesWith = (pattern: RegExp): string[] => scripts.filter(([, text]) => pattern.test(text)).map(([file]) => file);

// The script of a change also writes its event. A new script that makes such a change has to write the event too.

test('each script that creates an account emits account.created', () => {
  const beginning = filesWith(/'HSET(?:NX)?', account, 'createdAt'/);
  expect(beginning).toContain('accounts/open-account-library.lua');
  expect(beginning.toSorted()).toEqual(filesWith(/tell_event\([^\n]*, 'n', ''\)/).toSorted());
});

test('one function appends to ledgers, and it emits coins.changed', () => {
  expect(filesWith(/'[RL]PUSH', (?:ledger|guests|\w*\.\. ':ledger')/)).toEqual(['features/coins/ledger.lua']);
  const [, text] = scripts.find(([file]) => file === 'features/coins/ledger.lua')!;
  expect(text.match(/'RPUSH', ledger/g)).toHaveLength(1);
  expect(/\nlocal function append\([\s\S]*?\nend\n/.exec(text)![0]).toContain('if emits and not is_guests then tell_entry(');
});

test('each script that writes the purchase lines or the report of a subscription emits subscription.changed', () => {
  const writing = filesWith(/write_lines\(|join_lines\(held|'reportedSubscribed', subscribed/).filter((file) => !/-lines\.lua$/.test(file));
  expect(writing.toSorted()).toEqual([
    'features/store/move/accept.lua',
    'features/subscription/drop-line.lua',
    'features/subscription/put-line.lua',
    'features/subscription/report.lua',
  ]);
  for (const file of writing) expect([file, scripts.find(([each]) => each === file)![1]]).toEqual([file, expect.stringContaining("'s', ")]);
});
