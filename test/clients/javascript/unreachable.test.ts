import { expect, test, vi } from 'vitest';
import { failure } from '../../../src/clients/javascript/request.ts';
import { causeOf } from '../../../src/clients/javascript/unreachable.ts';
import { PATIENT } from '../../patience.ts';

const URL = 'https://coinop.example';

/** A page of this origin. The browser lets it send a request whose answer it may not read, if the service is there. */
function pageOf(origin: string, isThere: boolean, isAllowed = false) {
  const warnings: string[] = [];
  const asked: string[] = [];
  const fetch = async (url: string, { mode }: { mode: string }) => {
    asked.push(`${mode} ${url}`);
    if (!isThere || (mode === 'cors' && !isAllowed)) throw new TypeError('Failed to fetch');
  };
  const explain = causeOf({ location: { origin }, document: {}, fetch }, URL, (message) => warnings.push(message));
  return { warnings, asked, explain };
}

test('a page whose origin the service does not allow is told so', async () => {
  const { warnings, asked, explain } = pageOf('https://game.example', true);
  const failed = failure('network', 'TypeError: Failed to fetch');
  expect(explain(failed)).toBe(failed);
  await vi.waitFor(() => expect(warnings).toHaveLength(1), PATIENT);
  expect(warnings[0]).toContain('https://game.example');
  expect(warnings[0]).toContain('ALLOWED_ORIGINS');
  expect(explain(failed)).toEqual({ ok: false, error: { code: 'network', message: warnings[0] } });
  expect(asked).toEqual([`no-cors ${URL}/health`, `cors ${URL}/health`]);
  expect(explain({ ok: true })).toEqual({ ok: true });
  expect(explain(failed)).toBe(failed);
});

test.each([
  ['of a service that is down', 'https://game.example', false, false, 'network'],
  ['of a service that allows it, and that has just come back', 'https://game.example', true, true, 'network'],
  ['of the service itself', URL, true, false, 'network'],
  ['with another failure', 'https://game.example', true, false, 'timeout'],
] as const)('a page %s keeps the failure as it is', async (_, origin, isThere, isAllowed, code) => {
  const { warnings, explain } = pageOf(origin, isThere, isAllowed);
  const failed = failure(code);
  explain(failed);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect([explain(failed), warnings]).toEqual([failed, []]);
});
