import { expect, test } from 'vitest';
import { chains, modelTexts, NO_TRANSACTIONS, rebuilt, storedTexts } from './apple-fixtures.ts';
import { mutatedTexts } from './mutated-texts.ts';
import { reasons } from './text-changes.ts';
import { apple } from './text-draft.ts';
import { coinopVerdict } from './verdicts.ts';

// `npm run prove:apple` compares all of this with Apple's library.
const verdict = coinopVerdict(apple.der);

test.each(storedTexts)('the text $name of the repository of Apple’s library: taken is $expected', async ({ expected, isTaken }) => {
  expect(await isTaken()).toBe(expected);
});

test.each(chains)('the chain of the tests of Apple’s library with $name: verified is $expected', ({ expected, chain }) => {
  expect(chain() !== undefined).toBe(expected);
});

test('payloads of the repository of Apple’s library, signed anew, are taken if they are a transaction or a notification of the app', async () => {
  const taken: string[] = [];
  for (const { name, text, kind } of [...rebuilt(), ...modelTexts()]) if (await verdict(text, kind)) taken.push(name);
  expect(taken).toEqual([
    'transactionInfo',
    'testNotification',
    'signedExternalPurchaseTokenNotification as a notification',
    'signedExternalPurchaseTokenSandboxNotification as a notification',
    'signedRescindConsentNotification as a notification',
    'signedSummaryNotification as a notification',
    'signedTransaction as a transaction',
    'signedTransactionWithRevocation as a transaction',
  ]);
  expect(taken).not.toEqual(expect.arrayContaining([...NO_TRANSACTIONS]));
});

test('2,000 texts that were changed and signed again get the verdict of the table', async () => {
  const wrong: unknown[] = [];
  const seen = new Set<string>();
  for (const { text, kind, changes, isTaken, reasons: named } of mutatedTexts(2000, 49)) {
    if ((await verdict(text, kind)) !== isTaken) wrong.push([kind, isTaken ? 'has to be taken' : 'must not be taken', ...changes]);
    for (const reason of named) seen.add(reason);
  }
  expect(wrong).toEqual([]);
  expect([...seen].toSorted()).toEqual(Object.keys(reasons).toSorted());
});
