import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import type { Role } from '../../src/server/identity/roles.ts';
import { pair } from '../features/sessions/paired.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import type { MadeKey } from '../../src/server/identity/server-key-changes.ts';
import { keyChangesOf, makeServerKey } from '../server-keys.ts';
import { issue } from '../store.ts';
import { extra, launch, looks, noBrowser } from './chromium.ts';
import { axeProblems, keepPicture, layoutShift, openChecked, shows } from './page-checks.ts';

/** Chromium logs requests that fail, and those that a test breaks off. */
const FAILED = /Failed to load resource/;

/** The console of operators. One service and one browser for all; a context has its own sign-in. */
describe.skipIf(noBrowser)('the console', { timeout: 90_000 }, () => {
  let browser: Browser;
  let service: TestService;
  const keys = new Map<Role, MadeKey>();
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), start({ settings: { ADMIN_API: 'on', STORE: 'sandbox' } })]);
    for (const role of ['viewer', 'support', 'economist', 'admin'] as const)
      keys.set(role, await makeServerKey(service, ['admin'], { role, name: `Zoë, ${role}` }));
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  /** A person at the console. Counts the clicks since the sign-in; Enter in a field counts as one. */
  class Desk implements AsyncDisposable {
    readonly page: Page;
    readonly faults: string[];
    readonly #context: BrowserContext;
    readonly key: MadeKey;
    clicks = 0;

    constructor(page: Page, faults: string[], context: BrowserContext, key: MadeKey) {
      this.page = page;
      this.faults = faults;
      this.#context = context;
      this.key = key;
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.#context.close();
      expect(this.faults).toEqual([]);
    }

    async press(name: string | RegExp, within = 'body'): Promise<void> {
      this.clicks++;
      const place = this.page.locator(within);
      const exact = typeof name === 'string';
      await place.getByRole('button', { name, exact }).or(place.getByRole('link', { name, exact })).first().click();
    }

    async search(who: string, title: RegExp = /^Account /): Promise<void> {
      this.clicks++;
      await this.page.fill('[name=who]', who);
      await this.page.press('[name=who]', 'Enter');
      await shows(this.page, 'h1', title);
    }

    async fill(fields: Record<string, string>, within = 'dialog'): Promise<void> {
      for (const [name, value] of Object.entries(fields)) await this.page.fill(`${within} [name=${name}]`, value);
    }

    /** Opens the dialog of a change, fills it in, and reads the question. */
    async ask(title: string | RegExp, fields: Record<string, string> = {}): Promise<string> {
      await this.press(title);
      await this.fill({ ticket: 'ticket-4711', reason: 'test', ...fields });
      await this.press('What will happen?', 'dialog');
      await this.page.locator('dialog .question').waitFor();
      return (await this.page.textContent('dialog .question'))!;
    }

    /** Confirms the question, and closes the dialog once it shows the line of the log. */
    async confirm(title: string, typed: Record<string, string> = {}): Promise<string> {
      await this.fill(typed);
      await this.press(title, 'dialog');
      await shows(this.page, 'dialog', 'The log has it');
      const line = (await this.page.textContent('dialog tbody tr'))!;
      await this.press('Close', 'dialog');
      return line;
    }
  }

  async function open(role: Role, options: Parameters<Browser['newContext']>[0] = {}, key = keys.get(role)!): Promise<Desk> {
    const context = await browser.newContext(options);
    const { page, faults } = await openChecked(context, `${service.url}/console`, FAILED);
    await page.fill('[name=key]', key.token);
    await page.press('[name=key]', 'Enter');
    await page.locator('[role=search]').waitFor();
    return new Desk(page, faults, context, key);
  }

  async function aPlayer(coins = 100): Promise<{ installId: string; accountId: string }> {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins, key: 'welcome' });
    return { installId, accountId: accountIdOf(installId) };
  }

  const shown = async (accountId: string) =>
    (await service.get(`/v1/admin/accounts/${accountId}`, { bearer: keys.get('admin')!.token })).body;

  const fits = (page: Page): Promise<boolean> => page.evaluate('document.documentElement.scrollWidth <= innerWidth');

  test.each(looks)('"I lost 50 coins", at %i px in %s: found, corrected and logged, and axe minds nothing', async (width, colorScheme) => {
    await using desk = await open('support', { viewport: { width, height: 900 }, colorScheme });
    const { page } = desk;
    const { installId, accountId } = await aPlayer();
    await desk.search(installId);
    await keepPicture(page, `console-account-${width}-${colorScheme}`, true);
    const problems = await axeProblems(page);
    expect(await fits(page)).toBe(true);
    const question = await desk.ask('Correct the balance', { coins: '50' });
    expect(question).toBe(`Add 50 coins to the account ${accountId}, which has 100 and will have 150? Key: ticket-4711. Reason: test`);
    await keepPicture(page, `console-question-${width}-${colorScheme}`);
    problems.push(...(await axeProblems(page)));
    expect(await desk.confirm('Correct the balance')).toMatch(/accounts adjust.*done/);
    await shows(page, '.facts strong', '150');
    expect(problems).toEqual([]);
    expect(await layoutShift(page)).toBeLessThan(0.01);
    expect(desk.clicks).toBe(5);
    // The cookie is for no script, and the key is nowhere.
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe('{}{}');
  });

  describe('answers what users ask', () => {
    extra('"what is this on my bill": the order number leads to the account, and to the life of the purchase', async () => {
      await using desk = await open('viewer');
      const { installId, accountId } = await aPlayer();
      const { purchaseToken, orderId } = await issue(service, { kind: 'purchase', obfuscatedAccountId: accountId });
      expect((await service.post('/v1/purchases', { installId, purchaseToken, store: 'google' })).status).toBe(200);
      await desk.search(orderId);
      await shows(desk.page, 'h1', accountId);
      await desk.press('coins-500');
      await shows(desk.page, 'h1', `Purchase ${orderId}`);
      await shows(desk.page, '.facts', /500 coins/);
      expect(desk.clicks).toBe(2);
      // The back button leads to the account.
      await desk.page.goBack();
      await shows(desk.page, 'h1', accountId);
    });

    extra('"premium is gone": the page says why, and gives access for a week, and takes it back', async () => {
      await using desk = await open('economist');
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      await shows(desk.page, '.because', 'So its state is none');
      const until = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16);
      expect(await desk.ask('Give access', { until })).toContain(`Give the account ${accountId} access until`);
      expect(await desk.confirm('Give access')).toMatch(/accounts give.*done/);
      expect(desk.clicks).toBe(5);
      await shows(desk.page, '.facts', 'a gift');
      await desk.ask('Take access back');
      await desk.confirm('Take access back');
      expect((await shown(accountId)).entitlement.access).toBe(false);
    });

    extra('"sign me out everywhere": all sessions end, or one of them', async () => {
      await using desk = await open('support');
      const { installId } = await aPlayer();
      const first = await pair(service, { installId }, 'Mozilla/5.0 (X11; Linux) Chrome/1');
      const second = await pair(service, { installId }, 'Second');
      const isOpen = async (cookies: string) => (await service.get('/v1/session', { cookies })).body.authenticated;
      await desk.search(installId);
      await shows(desk.page, 'table', 'Chrome on Linux');
      const row = desk.page.locator('tr', { hasText: 'Second' });
      const id = (await row.locator('.mono').textContent())!;
      expect(await desk.ask(`End the session ${id}`)).toContain(`End the session ${id} (pairing`);
      await desk.confirm('End');
      expect([await isOpen(first.cookies), await isOpen(second.cookies)]).toEqual([true, false]);
      desk.clicks = 1;
      await desk.ask('Sign out everywhere');
      await desk.confirm('Sign out everywhere');
      expect(await isOpen(first.cookies)).toBe(false);
      expect(desk.clicks).toBe(5);
    });

    extra('"a swear word for a name": found by the name, renamed on the board, and taken back', async () => {
      await using desk = await open('support');
      const { installId, accountId } = await aPlayer();
      const name = `Rude${freshId('n').replaceAll(/[^a-z]/gi, '')}`;
      await service.post('/v1/highscores/pebble-drop', { installId, score: 5, name });
      await desk.search(name);
      await shows(desk.page, 'h1', accountId);
      expect(await desk.ask('Rename', { name: 'Player 7' })).toContain('the name "Player 7"');
      expect(await desk.confirm('Rename')).toMatch(/accounts rename.*done.*boards 1/);
      expect(desk.clicks).toBe(5);
      await shows(desk.page, '.facts', 'Player 7');
      await desk.ask('Take the name back');
      await desk.confirm('Take the name back');
      expect((await shown(accountId)).givenName).toBeUndefined();
    });

    extra('"compensate 2,000 players": looked at first, granted with the key typed again, stopped and gone on, once each', async () => {
      await using desk = await open('economist');
      const { page, key } = desk;
      // Two calls of a thousand, of which few accounts exist.
      const players = await Promise.all(Array.from({ length: 40 }, () => aPlayer(1)));
      const banned = await aPlayer(1);
      await service.post(`/v1/admin/accounts/${banned.accountId}/ban`, { reason: 'x' }, { bearer: keys.get('admin')!.token });
      const nobody = Array.from({ length: 960 + 999 }, () => accountIdOf(freshId()));
      const ids = [
        ...players.slice(0, 20).map(({ accountId }) => accountId),
        ...nobody,
        ...players.slice(20).map(({ accountId }) => accountId),
      ];
      const csv = ['accountId;note', ...ids.map((id) => `${id};"a ""note"""`), `${ids[0]};again`, `${banned.accountId};`].join('\r\n');
      await desk.press('Bulk grant');
      await page.setInputFiles('input[type=file]', { name: 'players.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
      await expect.poll(() => page.inputValue('textarea')).toContain(ids[0]);
      await desk.fill({ coins: '20', event: freshId('comp'), reason: 'outage' }, 'main');
      await desk.press('Look first');
      await shows(page, 'strong', '40 accounts × 20 = 800 coins');
      await shows(page, 'td', 'named by an earlier line too');
      expect((await shown(ids[0]!)).balanceCoins).toBe(1);
      await desk.fill({ typed: '39', key: key.token }, '#main section:last-of-type');
      await desk.press(/^Grant 800 coins$/);
      await shows(page, '.problem', 'That is not 40');
      await desk.fill({ typed: '40' }, '#main section:last-of-type');
      const saved = page.waitForEvent('download');
      await desk.press(/^Grant 800 coins$/);
      await shows(page, 'h2', 'Granted');
      await desk.press('Save the report');
      const report = readFileSync((await (await saved).path())!, 'utf8').split('\r\n');
      expect(report[0]).toBe('line,accountId,outcome,movedTo,balanceAfterCoins,code');
      expect(report.filter((line) => line.includes(',granted,')).length).toBe(40);
      expect(report.filter((line) => line.includes(',repeated,')).length).toBe(1);
      expect(report.filter((line) => line.includes(',banned,')).length).toBe(1);
      const balances = await Promise.all(players.map(async ({ accountId }) => (await shown(accountId)).balanceCoins));
      expect(new Set(balances)).toEqual(new Set([21]));
      // Look first, grant, and the report; the typing error took one more.
      expect(desk.clicks).toBe(5);
    });

    extra('"who changed this": the account has its changes, and the log finds those of an operator', async () => {
      await using desk = await open('support');
      const { installId, accountId } = await aPlayer();
      const { token, id } = keys.get('admin')!;
      await service.post(`/v1/admin/accounts/${accountId}/ban`, { reason: 'ticket 9' }, { bearer: token });
      await desk.search(installId);
      await shows(desk.page, 'tr', /accounts ban.*ticket 9/);
      expect(desk.clicks).toBe(1);
      await desk.press('Log');
      await desk.fill({ operator: `key:${id}`, action: 'accounts ban' }, 'main');
      await desk.press('Show');
      await shows(desk.page, 'td', accountId);
      const saved = desk.page.waitForEvent('download');
      await desk.press('Export as CSV');
      expect(readFileSync((await (await saved).path())!, 'utf8')).toContain(accountId);
    });

    extra('"cheater on a board": the entry is removed once its score and the key were typed, and the player banned', async () => {
      await using desk = await open('economist');
      const { installId, accountId } = await aPlayer();
      const game = freshId('g')
        .toLowerCase()
        .replaceAll(/[^a-z0-9-]/g, '')
        .slice(0, 20);
      await service.post(`/v1/highscores/${game}`, { installId, score: 9999, name: 'Cheat' });
      await desk.press('Boards');
      await desk.fill({ game }, 'main');
      await desk.press('Show');
      await shows(desk.page, 'td', 'Cheat');
      const question = await desk.ask('Remove the entry of Cheat');
      expect(question).toContain(`Remove "Cheat" with the score 9999 (account ${accountId})`);
      await desk.fill({ typed: '9998', key: desk.key.token });
      await desk.press('Remove', 'dialog');
      await shows(desk.page, 'dialog .problem', 'That is not 9999');
      await desk.confirm('Remove', { typed: '9999', key: desk.key.token });
      await shows(desk.page, '.none', 'No entries.');
      // Five for the removal, two to the board, and the typing error.
      expect(desk.clicks).toBe(7);
      await desk.search(accountId);
      await desk.ask('Ban');
      await desk.confirm('Ban');
      await shows(desk.page, '.chip', 'banned');
      await desk.ask('End the ban');
      await desk.confirm('End the ban');
      expect((await shown(accountId)).state).toBe('open');
    });
  });
});
