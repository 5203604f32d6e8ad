import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import type { Role } from '../../src/server/identity/roles.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { launch, looks, noBrowser } from './chromium.ts';
import { axeProblems, keepPicture, layoutShift, openChecked, shows } from './page-checks.ts';

/** The console of operators. One service and one browser for all; a context has its own sign-in. */
describe.skipIf(noBrowser)('the console', { timeout: 60_000 }, () => {
  let browser: Browser;
  let service: TestService;
  const keys = new Map<Role, string>();
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), start({ settings: { ADMIN_API: 'on', STORE: 'sandbox' } })]);
    for (const role of ['support', 'admin'] as const)
      keys.set(role, (await makeServerKey(service, ['admin'], { role, name: `Zoë, ${role}` })).token);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  async function open(
    role: Role,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<{ page: Page; faults: string[]; context: BrowserContext }> {
    const context = await browser.newContext(options);
    const { page, faults } = await openChecked(context, `${service.url}/console`, /Failed to load resource/);
    await page.fill('[name=key]', keys.get(role)!);
    await page.press('[name=key]', 'Enter');
    await page.locator('[role=search]').waitFor();
    return { page, faults, context };
  }

  async function find(page: Page, who: string): Promise<void> {
    await page.fill('[name=who]', who);
    await page.press('[name=who]', 'Enter');
    await shows(page, 'h1', /^Account /);
  }

  /** Opens the dialog of a change, fills it in, and shows the question. */
  async function ask(page: Page, title: string, fields: Record<string, string> = {}): Promise<string> {
    await page.getByRole('button', { name: title, exact: true }).first().click();
    const all = { ticket: 'ticket-4711', reason: 'test', ...fields };
    for (const [name, value] of Object.entries(all)) await page.fill(`dialog [name=${name}]`, value);
    await page.getByRole('button', { name: 'What will happen?' }).click();
    await page.locator('dialog .question').waitFor();
    return (await page.textContent('dialog .question'))!;
  }

  /** Confirms the question, and closes the dialog once the log has the change. */
  async function confirm(page: Page, title: string, typed: Record<string, string> = {}): Promise<string> {
    for (const [name, value] of Object.entries(typed)) await page.fill(`dialog [name=${name}]`, value);
    await page.locator('dialog').getByRole('button', { name: title, exact: true }).click();
    await shows(page, 'dialog', 'The log has it');
    const line = (await page.textContent('dialog tbody tr'))!;
    await page.locator('dialog').getByRole('button', { name: 'Close' }).click();
    return line;
  }

  async function aPlayer(coins = 100): Promise<{ installId: string; accountId: string }> {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins, key: 'welcome' });
    return { installId, accountId: accountIdOf(installId) };
  }

  test.each(looks)(
    '"I lost 50 coins", at %i px in %s: found, corrected and logged, with nothing that axe minds',
    async (width, colorScheme) => {
      const { page, faults, context } = await open('support', { viewport: { width, height: 900 }, colorScheme });
      const { installId, accountId } = await aPlayer();
      const problems: string[] = [];
      await find(page, installId);
      await keepPicture(page, `console-account-${width}-${colorScheme}`, true);
      problems.push(...(await axeProblems(page)));
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      const question = await ask(page, 'Correct the balance', { coins: '50' });
      expect(question).toBe(`Add 50 coins to the account ${accountId}, which has 100 and will have 150? Key: ticket-4711. Reason: test`);
      await keepPicture(page, `console-question-${width}-${colorScheme}`);
      problems.push(...(await axeProblems(page)));
      expect(await confirm(page, 'Correct the balance')).toMatch(/accounts adjust.*done/);
      await shows(page, '.facts strong', '150');
      expect(problems).toEqual([]);
      expect(await layoutShift(page)).toBeLessThan(0.01);
      expect(faults).toEqual([]);
      // The cookie is for no script, and the key is nowhere.
      expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe('{}{}');
      await context.close();
    },
  );
});
