import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { BACKGROUND_AUDIT_KEY } from '../../src/consistency/background.ts';
import { HOUR_MS, numberKeys } from '../../src/features/numbers/model.ts';
import { COUNTED_DAY_MS as DAY_MS, COUNTERS_TAG, dayNumber } from '../../src/redis/counters.ts';
import type { Role } from '../../src/server/identity/roles.ts';
import { pair } from '../features/sessions/paired.ts';
import { SECRET } from '../../src/features/webhooks/signature.ts';
import { startReceiver } from '../features/webhooks/receiver.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import type { MadeKey } from '../../src/server/identity/server-key-changes.ts';
import { keyChangesOf, makeServerKey, statusWith } from '../server-keys.ts';
import { issue, signInToStore } from '../store.ts';
import { extra, isWhole, looks, noBrowser } from './chromium.ts';
import { axeProblems, FAILED, fits, inBrowser, keepPicture, layoutShift, shows } from './page-checks.ts';

const ON_PHONE = { colorScheme: 'dark', viewport: { width: 390, height: 800 } } as const;

/** The console of operators. One service and one browser for all; a context has its own sign-in. */
describe.skipIf(noBrowser)('the console', () => {
  const browser = inBrowser();
  let service: TestService;
  const keys = new Map<Role, MadeKey>();
  beforeAll(async () => {
    service = await start({ settings: { ADMIN_API: 'on', STORE: 'sandbox', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' } });
    for (const role of ['viewer', 'support', 'economist', 'admin'] as const)
      keys.set(role, await makeServerKey(service, ['admin'], { role, name: `Zoë, ${role}` }));
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  /** A person at the console. Counts the clicks since the sign-in; Enter in a field counts as one. */
  class Desk {
    readonly page: Page;
    readonly key: MadeKey;
    clicks = 0;

    constructor(page: Page, key: MadeKey) {
      this.page = page;
      this.key = key;
    }

    async press(name: string | RegExp, within = 'body'): Promise<void> {
      this.clicks++;
      const place = this.page.locator(within);
      const exact = typeof name === 'string';
      await place.getByRole('button', { name, exact }).or(place.getByRole('link', { name, exact })).first().click();
    }

    async search(who: string, title: RegExp = /Account [\w-]{22}$/): Promise<void> {
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

    /** Confirms the question, and closes the dialog once it shows the line of the log. @returns that line, and the secret if there is one */
    async confirm(title: string, typed: Record<string, string> = {}): Promise<{ line: string; secret: string }> {
      await this.fill(typed);
      await this.press(title, 'dialog');
      await shows(this.page, 'dialog', 'The log has it');
      const line = (await this.page.textContent('dialog .facts'))!;
      const secrets = (await this.page.locator('dialog output').allTextContents()).filter((text) => text !== '');
      await this.press('Close', 'dialog');
      await this.page.locator('dialog').waitFor({ state: 'detached' });
      // The view behind the dialog is shown again. A button that was pressed meanwhile would be replaced, and lose the focus.
      await this.page.locator('main:not([aria-busy])').waitFor();
      for (const secret of secrets) expect(await this.page.content()).not.toContain(secret);
      return { line, secret: secrets.join() };
    }

    /** Makes a change: asks with these fields, and confirms. */
    async change(title: string | RegExp, asked: Record<string, string> = {}, typed: Record<string, string> = {}, confirm = String(title)) {
      return { question: await this.ask(title, asked), ...(await this.confirm(confirm, typed)) };
    }
  }

  async function open(role: Role, options: BrowserContextOptions = {}, key = keys.get(role)!): Promise<Desk> {
    const page = await browser.open(`${service.url}/console`, FAILED, options);
    await page.fill('[name=key]', key.token);
    await page.press('[name=key]', 'Enter');
    await page.locator('[role=search]').waitFor();
    return new Desk(page, key);
  }

  async function aPlayer(coins = 100): Promise<{ installId: string; accountId: string }> {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins, key: 'welcome' });
    return { installId, accountId: accountIdOf(installId) };
  }

  const shown = async (accountId: string) =>
    (await service.get(`/v1/admin/accounts/${accountId}`, { bearer: keys.get('admin')!.token })).body;

  test.each(looks)(
    '"I lost 50 coins" is found, corrected and logged at %i px in %s, and axe reports nothing',
    async (width, colorScheme) => {
      const desk = await open('support', { viewport: { width, height: 900 }, colorScheme });
      const { page } = desk;
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      await keepPicture(page, `console-account-${width}-${colorScheme}`, true);
      const problems = await axeProblems(page);
      expect(await fits(page)).toBe(true);
      const question = await desk.ask('Correct the balance', { coins: '50' });
      // Back leads to the filled-in form, with the focus in its first field.
      await page.getByRole('button', { name: 'Back' }).click();
      expect(await page.evaluate('[document.activeElement.name, document.activeElement.value].join()')).toBe('coins,50');
      await page.getByRole('button', { name: 'What will happen?' }).click();
      await page.locator('dialog .question').waitFor();
      expect(question).toBe(`Add 50 coins to the account ${accountId}, which has 100 and will have 150? Ticket: ticket-4711. Reason: test`);
      await keepPicture(page, `console-question-${width}-${colorScheme}`);
      problems.push(...(await axeProblems(page)));
      expect((await desk.confirm('Correct the balance')).line).toMatch(/accounts adjust.*done/);
      await shows(page, '.facts strong', '150');
      await shows(page, '[aria-label=Events]', /coins\.changed.*account\.created/s);
      expect(problems).toEqual([]);
      // A shift counts later than 500 ms after an input, so a busy machine has more of them.
      if (isWhole) expect(await layoutShift(page)).toBeLessThan(0.01);
      expect(desk.clicks).toBe(5);
      // Scripts cannot read the cookie, and the key is not stored.
      expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe('{}{}');
    },
  );

  /** A game whose board no other test fills, with these scores of new players. */
  async function aBoard(...scores: [score: number, name: string, installId: string][]): Promise<string> {
    const game = freshId('g').toLowerCase();
    for (const [score, name, installId] of scores) await service.post(`/v1/highscores/${game}`, { installId, score, name });
    return game;
  }

  describe('answers what users ask', () => {
    extra('"what is this on my bill": the order number leads to the account, and to the life of the purchase', async () => {
      const desk = await open('viewer');
      const { installId, accountId } = await aPlayer();
      const { purchaseToken, orderId } = await issue(service, { kind: 'purchase', obfuscatedAccountId: accountId });
      expect((await service.post('/v1/purchases', { installId, purchaseToken, store: 'google' })).status).toBe(200);
      await desk.search(orderId);
      await shows(desk.page, 'h1', accountId);
      await desk.press('coins-500');
      await shows(desk.page, 'h1', `Purchase ${orderId}`);
      await shows(desk.page, '.facts', '500 granted');
      expect(desk.clicks).toBe(2);
      // The back button leads to the account.
      await desk.page.goBack();
      await shows(desk.page, 'h1', accountId);
    });

    extra('"premium is gone": the page says why, and gives access for a week, and takes it back', async () => {
      const desk = await open('economist');
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      await shows(desk.page, '.because', 'So its state is none');
      const until = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16);
      const { question, line } = await desk.change('Give access', { until });
      expect([question, line]).toEqual([
        expect.stringContaining(`Give the account ${accountId} access until ${until}`),
        expect.stringMatching(/accounts give.*done/),
      ]);
      expect(desk.clicks).toBe(5);
      await shows(desk.page, '.facts', 'a gift');
      await desk.change('Take access back');
      expect((await shown(accountId)).entitlement.access).toBe(false);
    });

    extra('"sign me out everywhere": all sessions end, or one of them', async () => {
      const desk = await open('support');
      const { installId } = await aPlayer();
      const first = await pair(service, { installId }, 'Mozilla/5.0 (X11; Linux) Chrome/1');
      const second = await pair(service, { installId }, 'Second');
      const isOpen = async (cookies: string) => (await service.get('/v1/session', { cookies })).body.authenticated;
      await desk.search(installId);
      await shows(desk.page, 'table', 'Chrome on Linux');
      const id = (await desk.page.locator('tr', { hasText: 'Second' }).locator('.mono').textContent())!;
      await desk.change(`End the session ${id}`, {}, {}, 'End the session');
      expect([await isOpen(first.cookies), await isOpen(second.cookies)]).toEqual([true, false]);
      desk.clicks = 1;
      await desk.change('Sign out everywhere');
      expect([await isOpen(first.cookies), desk.clicks]).toEqual([false, 5]);
    });

    extra('"somebody has my mail account": its sign-in is removed, with its sessions, and the others stay', async () => {
      const desk = await open('support');
      const subject = freshId('subject');
      const { cookies, body } = await signInToStore(service, subject);
      const apple = { kind: 'id_token', provider: 'apple', subject };
      const { nonce } = (await service.post('/v1/account/sign-ins/nonce', {}, { cookies })).body;
      const [{ token }, { token: proof }] = [
        await issue(service, { ...apple, nonce }),
        await issue(service, { kind: 'id_token', subject }),
      ];
      const { signIns } = (await service.post('/v1/account/sign-ins', { token, proof }, { cookies })).body;
      const { id } = signIns.find(({ provider }: { provider: string }) => provider === 'apple');
      await desk.search(body.accountId);
      await shows(desk.page, 'table', 'apple');
      await desk.change(`Remove the sign-in ${id} (apple)`, {}, {}, 'Remove the sign-in');
      expect((await shown(body.accountId)).signIns).toMatchObject([{ provider: 'google' }]);
      expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(true);
      expect(desk.clicks).toBe(5);
    });

    extra('"a swear word for a name": found by the name, renamed on the board, and taken back', async () => {
      const desk = await open('support');
      const { installId, accountId } = await aPlayer();
      const name = `Rude${freshId('n').replaceAll(/[^a-z]/gi, '')}`;
      await service.post('/v1/highscores/pebble-drop', { installId, score: 5, name });
      await desk.search(name);
      await shows(desk.page, 'h1', `${name} · Account ${accountId}`);
      expect((await desk.change('Rename', { name: 'Player 7' })).line).toMatch(/accounts rename.*Player 7.*done.*boards1/);
      expect(desk.clicks).toBe(5);
      await shows(desk.page, '.facts', 'Player 7');
      await desk.change('Take the name back');
      expect((await shown(accountId)).givenName).toBeUndefined();
      await desk.search('name:nobody-has-it', /^Nobody was found$/);
    });

    extra('"I bought 500 and got none": a purchase that is not paid for has no number, and its account says so', async () => {
      const desk = await open('support');
      const { installId, accountId } = await aPlayer();
      const { purchaseToken, orderId } = await issue(service, { kind: 'purchase', state: 'pending', obfuscatedAccountId: accountId });
      expect(orderId).toBeUndefined();
      const { body } = await service.post('/v1/purchases', { installId, purchaseToken, store: 'google' });
      await desk.search('GPA.0000-0000-0000-00000', /^Nobody was found$/);
      await shows(desk.page, '.lead', 'only once the purchase has been paid for');
      await desk.search(installId);
      await shows(desk.page, 'main', `no number yet, purchase ${body.purchase.purchaseId}`);
    });

    const inTheEnd = '#main section:last-of-type';

    extra('"compensate 2,000 players": looked at first, granted once the number and the key were typed, and reported', async () => {
      const desk = await open('economist');
      const { page, key } = desk;
      const [players, banned] = [await Promise.all(Array.from({ length: 10 }, () => aPlayer(1))), await aPlayer(1)];
      await service.post(`/v1/admin/accounts/${banned.accountId}/ban`, { reason: 'x' }, { bearer: keys.get('admin')!.token });
      // Two calls of a thousand, of which few accounts exist.
      const nobody = Array.from({ length: 1990 }, () => accountIdOf(freshId()));
      const ids = [...players.slice(5), ...nobody.map((accountId) => ({ accountId })), ...players.slice(0, 5)].map(
        (each) => each.accountId,
      );
      const csv = ['accountId;note', ...ids.map((id) => `${id};"a ""note"""`), `${ids[0]};again`, `${banned.accountId};`].join('\r\n');
      await desk.press('Bulk grant');
      await page.setInputFiles('input[type=file]', { name: 'players.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
      await expect.poll(() => page.inputValue('textarea')).toContain(ids[0]);
      await desk.fill({ coins: '20', event: freshId('comp'), reason: 'outage' }, 'main');
      await desk.press('Look first');
      await shows(page, 'strong', '10 accounts × 20 = 200 coins');
      expect((await shown(ids[0]!)).balanceCoins).toBe(1);
      await desk.fill({ typed: '9', key: key.token }, inTheEnd);
      await desk.press(/^Grant 200 coins$/);
      await shows(page, '.problem', 'That is not 10');
      await desk.fill({ typed: '10' }, inTheEnd);
      const saved = page.waitForEvent('download');
      await desk.press(/^Grant 200 coins$/);
      await shows(page, 'h2', 'Granted');
      await desk.press('Save the report');
      const report = readFileSync((await (await saved).path())!, 'utf8');
      expect(report).toContain('line,accountId,outcome,coins,balanceAfterCoins,movedTo,detail\r\n');
      expect(['granted', 'repeated', 'banned'].map((outcome) => report.split(`,${outcome},`).length - 1)).toEqual([10, 1, 1]);
      const balances = await Promise.all(players.map(async ({ accountId }) => (await shown(accountId)).balanceCoins));
      expect(new Set(balances)).toEqual(new Set([21]));
      // Look first, grant, and the report; the typing error took one more.
      expect(desk.clicks).toBe(5);
      // Taken back by its report, in four clicks.
      await desk.press('Take this grant back, with its report');
      await page.setInputFiles('input[type=file]', { name: 'report.csv', mimeType: 'text/csv', buffer: Buffer.from(report) });
      await expect.poll(() => page.inputValue('textarea')).toContain(ids[0]);
      await desk.fill({ reason: 'wrong file' }, 'main');
      await desk.press('Look first');
      await shows(page, 'strong', '10 accounts, 200 coins');
      await desk.fill({ typed: '10', key: key.token }, inTheEnd);
      await desk.press(/^Take back 200 coins$/);
      await shows(page, 'h2', 'Taken back');
      await shows(page, '.facts', 'taken back10');
      expect((await shown(ids[0]!)).balanceCoins).toBe(1);
    });

    extra('a grant that is stopped, and one whose answers are lost, are gone on with, and give nobody the coins twice', async () => {
      const desk = await open('economist');
      const { page, key } = desk;
      // A call takes a thousand: three are left when the run is stopped in the first one. The file has installIds, which the page sends nowhere.
      const players: Awaited<ReturnType<typeof aPlayer>>[] = [];
      while (players.length < 1003)
        players.push(...(await Promise.all(Array.from({ length: Math.min(100, 1003 - players.length) }, () => aPlayer(1)))));
      const installs = players.map(({ installId }) => installId);
      const sent: string[] = [];
      page.on('request', (request) => void sent.push(request.postData() ?? ''));
      const look = async (): Promise<void> => {
        await page.fill('textarea', `installId\n${installs.join('\n')}`);
        await desk.press('Look first');
      };
      const grant = async (accounts: number): Promise<void> => {
        await desk.fill({ typed: String(accounts), key: key.token }, '#main');
        await desk.press(/^Grant [\d,]+ coins$/);
      };
      await desk.press('Bulk grant');
      await desk.fill({ coins: '20', event: freshId('comp'), reason: 'outage' }, 'main');
      await look();
      await shows(page, 'strong', '1,003 accounts × 20 = 20,060 coins');
      await page.route('**/grant-many', async (route) => {
        await desk.press('Stop');
        await route.continue();
      });
      await grant(1003);
      await shows(page, 'h2', 'Stopped in the middle');
      await shows(page, '.facts', /not granted yet3/);
      await page.unroute('**/grant-many');
      await desk.press('Go on');
      await page.route('**/grant-many', async (route) => {
        await route.fetch();
        await route.abort();
      });
      await grant(3);
      await shows(page, 'h2', 'Stopped in the middle');
      await page.unroute('**/grant-many');
      await desk.press('Go on');
      await grant(3);
      await shows(page, 'h2', 'Granted');
      await shows(page, '.facts', 'got them under this key before');
      // The whole file once more grants no coins.
      await look();
      await shows(page, 'h2', 'Nothing will change');
      for (const { accountId } of [players[0]!, ...players.slice(-4)])
        expect((await shown(accountId)).history).toMatchObject([{ balanceAfterCoins: 21 }, {}]);
      expect(sent.filter((text) => installs.some((installId) => text.includes(installId)))).toEqual([]);
    });

    extra('"who changed this": the account has its changes, and the log finds those of an operator', async () => {
      const desk = await open('support');
      const { page } = desk;
      const { installId, accountId } = await aPlayer();
      const { token, id } = keys.get('admin')!;
      await service.post(`/v1/admin/accounts/${accountId}/ban`, { reason: 'ticket 9' }, { bearer: token });
      await desk.search(installId);
      await shows(page, 'tr', /accounts ban.*ticket 9/);
      expect(desk.clicks).toBe(1);
      await desk.press('Log');
      // An installId is refused before it is in the address, and the form stays.
      await desk.fill({ account: installId }, 'main');
      await desk.press('Show');
      await shows(page, '.filter .problem', 'it is a secret');
      expect(page.url().endsWith('#/log')).toBe(true);
      await desk.fill({ account: '', operator: 'zoë, admin' }, 'main');
      await page.selectOption('main [name=action]', 'accounts ban');
      await desk.press('Show');
      await shows(page, 'td', accountId);
      await shows(page, 'td', `Zoë, admin (${id})`);
      const saved = page.waitForEvent('download');
      await desk.press('Export as CSV');
      expect(readFileSync((await (await saved).path())!, 'utf8')).toContain(accountId);
    });

    extra(
      '"what happened then": a timeline to the second, in the zone of the browser too, and a filter that the service refuses stays',
      async () => {
        const desk = await open('support', { timezoneId: 'Asia/Dubai' });
        const { page } = desk;
        const { installId, accountId } = await aPlayer();
        await desk.search(installId);
        await desk.fill({ coins: 'many' }, 'main');
        await desk.press('Show');
        await shows(page, '.filter .problem', 'whole coins');
        expect(page.url()).toMatch(new RegExp(`#/accounts/${accountId}$`));
        const [entry] = (await shown(accountId)).history;
        await desk.press(/^What else happened around/);
        await shows(page, 'h1', `Timeline of ${accountId}`);
        await shows(page, 'tr', /coins.*credit welcome/);
        const second = (at: number): string => new Date(at).toISOString().slice(0, 19);
        const at = Date.parse(entry.at);
        await shows(page, 'td', second(at).replace('T', ' '));
        expect(await page.inputValue('[name=from]')).toBe(second(at - 120_000));
        expect(page.url()).toContain(encodeURIComponent(`${second(at + 120_000)}Z`));
        await page.selectOption('[name=zone]', 'local');
        // Four hours ahead of UTC.
        const there = (time: number): string => second(time + 14_400_000);
        await shows(page, 'th', 'At (Asia/Dubai)');
        await shows(page, 'td', there(at).replace('T', ' '));
        expect(await page.inputValue('[name=from]')).toBe(there(at - 120_000));
        // The last second belongs to the span, and a day to its end.
        await page.fill('[name=from]', there(at));
        await page.fill('[name=to]', there(at));
        await desk.press('Show');
        await shows(page, 'tr', /coins.*credit welcome/);
        expect(page.url()).toContain(encodeURIComponent(`${second(at)}Z`));
        for (const preset of ['Last hour', 'Today']) {
          await desk.press(preset);
          await shows(page, 'tr', /coins.*credit welcome/);
        }
        expect(await axeProblems(page)).toEqual([]);
        await desk.press('Log');
        await shows(page, 'nav [aria-current=page]', 'Log');
      },
    );

    extra('after a search that finds nothing, or is refused, nothing of the last account is shown', async () => {
      const desk = await open('support');
      const { installId, accountId } = await aPlayer();
      for (const wrong of ['nosuchplayer-at-all', '\u{1}']) {
        await desk.search(installId);
        await desk.search(wrong, /was found/);
        expect(await desk.page.content()).not.toContain(accountId);
      }
    });

    extra('a correction that the account would refuse is refused before it is made', async () => {
      const desk = await open('support');
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      await desk.press('Correct the balance');
      await desk.fill({ ticket: 'ticket-1', reason: 'test', coins: '-101' });
      await desk.press('What will happen?', 'dialog');
      await shows(desk.page, 'dialog .problem', 'would leave -1');
      expect((await shown(accountId)).history).toHaveLength(1);
    });

    extra('"cheater on a board": the entry is removed once its score and the key were typed, and the player banned', async () => {
      const desk = await open('economist');
      const { installId, accountId } = await aPlayer();
      const game = await aBoard([9999, 'Cheat', installId]);
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
      await desk.change('Ban');
      await shows(desk.page, '.chip', 'banned');
      await desk.change('End the ban');
      expect((await shown(accountId)).state).toBe('open');
    });
  });

  describe('makes every other change', () => {
    extra('a room is watched, a player kicked and pardoned, the hands looked at, and the room ended', async () => {
      const desk = await open('support');
      const { page } = desk;
      const [host, guest] = [freshId(), freshId()];
      const { code } = (await service.post('/v1/rooms', { installId: host, game: 'pebble-drop', public: true, name: 'Host' })).body.room;
      await service.post(`/v1/rooms/${code}/join`, { installId: guest, name: 'Guest' });
      await desk.search(code, /^Room /);
      await shows(page, '[role=status]', 'Live.');
      await service.post(`/v1/rooms/${code}/state`, { installId: host, state: { round: 2 } });
      await shows(page, 'pre', '"round": 2');
      await shows(page, '.facts', /\d\.\d changes, 0\.0 messages/);
      expect((await desk.change('Kick p2', {}, {}, 'Kick')).question).toContain('Kick p2 ("Guest"');
      await shows(page, '[aria-label=Seats] tbody', /^(?!.*p2)/);
      expect((await desk.change('Pardon', { account: accountIdOf(guest) })).line).toMatch(/rooms pardon.*done.*wasKickedyes/);
      await desk.fill({ reason: 'ticket 5' }, 'main');
      await desk.press('Show the hands');
      await shows(page, '[aria-label="What single players see"]', 'p1');
      await desk.change('End the room');
      await shows(page, '.facts', 'ended');
    });

    extra('all rooms are listed by a filter, and a room says that it has ended or expired while somebody looks at it', async () => {
      const desk = await open('viewer');
      const { page } = desk;
      const [installId, game] = [freshId(), freshId('game').toLowerCase()];
      const made = async (fields: object): Promise<string> =>
        (await service.post('/v1/rooms', { installId, game, ...fields })).body.room.code as string;
      const [hidden, shown] = [await made({ tags: { mode: '<b>x</b>' } }), await made({ public: true })];
      await desk.press('Rooms');
      await desk.fill({ game }, 'main');
      await page.selectOption('main [name=private]', 'true');
      await page.locator('main form:has([name=private]) button').click();
      await shows(page, 'td', hidden);
      expect(await page.locator('tbody tr').count()).toBe(1);
      await desk.press(hidden);
      await shows(page, '.facts', '<b>x</b>');
      await shows(page, '[role=status]', 'Live.');
      await desk.press('Pause');
      await shows(page, '[role=status]', 'Paused.');
      await service.post(`/v1/rooms/${hidden}/state`, { installId, state: { round: 3 } });
      await desk.press('Go on');
      await shows(page, 'pre', '"round": 3');
      // A viewer has no button for a change.
      expect(await page.locator('main button').allTextContents()).toEqual(['Pause']);
      await service.post(`/v1/rooms/${hidden}/end`, { installId });
      await shows(page, '[role=status]', 'The room has ended.');
      expect([await page.locator('main button').count(), await axeProblems(page), await fits(page)]).toEqual([0, [], true]);
      await page.goto(`${service.url}/console#/rooms/${shown}`);
      await shows(page, '[role=status]', 'Live.');
      // The room expires, and its code is given out again.
      await service.service.redis.hset(`{room:${shown}}`, 'createdAt', String(service.now() + 1));
      await shows(page, '[role=status]', 'its code belongs to another room now');
      const third = await made({});
      await page.goto(`${service.url}/console#/rooms/${third}`);
      await shows(page, '[role=status]', 'Live.');
      await service.service.redis.del(`{room:${third}}`);
      await shows(page, '[role=status]', 'does not exist any more');
    });

    extra('an account is deleted once its coins and the key were typed', async () => {
      const desk = await open('admin');
      const { installId, accountId } = await aPlayer(1234);
      await desk.search(installId);
      expect(await desk.ask('Delete for good')).toContain('its balance of 1234');
      await desk.fill({ typed: '1,234', key: keys.get('support')!.token });
      await desk.press('Delete for good', 'dialog');
      await shows(desk.page, 'dialog .problem', 'That is not your sign-in key');
      expect((await shown(accountId)).balanceCoins).toBe(1234);
      await desk.confirm('Delete for good', { typed: '1,234', key: desk.key.token });
      await shows(desk.page, '.card', 'This account was deleted');
    });

    extra('a purchase is asked about, and moved to the account of its buyer', async () => {
      const desk = await open('economist');
      const [from, to] = [await aPlayer(), await aPlayer()];
      const { purchaseToken, orderId } = await issue(service, { kind: 'purchase' });
      await service.post('/v1/purchases', { installId: from.installId, purchaseToken, store: 'google' });
      await desk.search(orderId);
      await desk.press('coins-500');
      await desk.change('Ask the store now');
      const { question } = await desk.change(/^Move the purchase/, { account: to.accountId }, {}, 'Move');
      expect(question).toContain(`to the account ${to.accountId}, which has 100`);
      expect((await shown(to.accountId)).balanceCoins).toBe(600);
    });

    extra('each place shows its page to those who may see it, readable on a phone', async () => {
      const desk = await open('admin', ON_PHONE);
      const { page } = desk;
      const problems: string[] = [];
      for (const place of ['Accounts', 'Webhooks', 'Keys', 'Health', 'Purchases', 'Log', 'Boards', 'Rooms', 'Bulk grant']) {
        await desk.press(place);
        await shows(page, 'h1', place === 'Keys' ? 'Server keys' : place);
        await page.locator('main:not([aria-busy])').waitFor();
        problems.push(...(await axeProblems(page)).map((problem) => `${place}: ${problem}`));
        expect(await fits(page)).toBe(true);
        await keepPicture(page, `console-${place.toLowerCase().replace(' ', '-')}`, true);
      }
      expect(problems).toEqual([]);
      await desk.press('Keys');
      await shows(page, 'td', 'Zoë, admin');
      expect(await page.content()).not.toContain(desk.key.token.slice(-32));
    });
  });

  describe('the start page', () => {
    beforeAll(async () => {
      const { redis } = service.service;
      const today = dayNumber(service.now());
      for (let back = 0; back < 80; back++) {
        const counters = {
          ...{ '+c': 9000 + ((back * 37) % 11) * 700, '+p': 2000, '+g': 300, '+w': 500, '-d': 7000 + ((back * 53) % 13) * 300, '-a': 40 },
          ...{ '+t': 4000, '-r': 500, 'bought:google:coins-500': 3000, 'sold:google:coins-500': 6, 'refunded:google:coins-500': 500 },
          ...{ 'bought:apple:coins-500': 1000, 'sold:apple:coins-500': 2, new: 40 + ((back * 17) % 9), rooms: 120 + back, matches: 70 },
          ...{ prizes: 3 },
        };
        await redis.hset(numberKeys.counters(COUNTERS_TAG, today - back), counters);
        await redis.hset(numberKeys.countedDays(COUNTERS_TAG), today - back, (today - back) * DAY_MS);
        await redis.hset(numberKeys.activeCounts, today - back, 300 + ((back * 29) % 50));
      }
      await redis.hset(BACKGROUND_AUDIT_KEY, 'endedAt', service.now(), 'findings', 3, 'seconds', 4);
      const at = Math.floor(service.now() / HOUR_MS);
      await redis.hset(numberKeys.refusals(at), 'rate_limited', 420);
      await makeServerKey(service, ['coins'], { name: 'The shop', expiresAt: service.now() + 3 * DAY_MS });
    });

    extra.each(looks)('shows what needs a person, and 90 days as plots with tables, at %i px in %s', async (width, colorScheme) => {
      const desk = await open('admin', { viewport: { width, height: 900 }, colorScheme });
      const { page } = desk;
      await shows(page, 'h1', 'Start');
      await shows(page, '[aria-label="Needs a person"]', /The audit has 3 findings.*rate_limited.*420 in an hour.*ends soon.*“The shop”/s);
      await page.locator('[aria-label="Prizes, by day"]').waitFor();
      for (const title of ['Coins by kind', 'Bought and refunded', 'Accounts', 'Rooms and matches', 'Prizes'])
        expect(await page.locator(`[aria-label="${title}, by day"] tbody tr`).count()).toBe(90);
      const day = page.locator('[aria-label="Bought and refunded, by day"] tbody tr').nth(1).locator('td');
      expect(await day.allTextContents()).toEqual([
        new Date(service.now() - DAY_MS).toISOString().slice(0, 10),
        ...['1,000', '0', '3,000', '-500'],
      ]);
      await keepPicture(page, `console-start-${width}-${colorScheme}`, true);
      expect([await axeProblems(page), await fits(page)]).toEqual([[], true]);
    });

    extra('leads to where things are dealt with, to the top lists, and to files', async () => {
      const desk = await open('admin', { ...ON_PHONE, acceptDownloads: true });
      const { page } = desk;
      await shows(page, 'h1', 'Start');
      await desk.press('The audit has 3 findings');
      await shows(page, 'h1', 'Health');
      await desk.press('Start');
      await shows(page, 'h1', 'Start');
      const saved = page.waitForEvent('download');
      await desk.press('Products as CSV');
      expect((await saved).suggestedFilename()).toBe('numbers-products.csv');
      const { accountId } = await aPlayer(900_000);
      await desk.press('Top lists');
      await shows(page, 'h1', 'Highest balances');
      await shows(page, 'td', accountId);
      await shows(page, '[role=status]', /Searched|looked|read/i);
      for (const [tab, title] of [
        ['Highest debts', 'Highest debts'],
        ['Fastest growth', 'Fastest growth'],
        ['Spent most', 'Spent most'],
      ] as const) {
        await desk.press(tab);
        await shows(page, 'h1', title);
        await page.locator('main:not([aria-busy])').waitFor();
        expect([await axeProblems(page), await fits(page)]).toEqual([[], true]);
      }
      await keepPicture(page, 'console-top', true);
    });
  });

  describe('shows a secret once', () => {
    extra('of a webhook, which is added, delivers, is stopped, started, replayed, given a new secret, and removed', async () => {
      await using receiver = await startReceiver();
      const desk = await open('admin', ON_PHONE);
      const { page, key } = desk;
      await desk.press('Webhooks');
      await shows(page, 'h1', 'Webhooks');
      const added = await desk.change('Add a webhook', { url: receiver.url, types: 'coins.changed' }, { key: key.token });
      expect(added).toMatchObject({
        question: `Send coins.changed of all accounts to ${receiver.url}?`,
        secret: expect.stringMatching(SECRET),
      });
      await shows(page, 'td', receiver.url);
      const { accountId } = await aPlayer();
      await eventually(() => receiver.received.some(({ body }) => body.includes(accountId)));
      const id = (await page.textContent('tbody a'))!;
      await eventually(async () => {
        const { body } = await service.get(`/v1/admin/webhooks/${id}/deliveries`, { bearer: key.token });
        return body.deliveries.length > 0;
      });
      await desk.press(id);
      await shows(page, 'h1', `Webhook ${id}`);
      await shows(page, '[aria-label=Deliveries]', /coins\.changed.*delivered.*204/);
      expect([await axeProblems(page), await fits(page)]).toEqual([[], true]);
      await keepPicture(page, 'console-webhook', true);
      const before = receiver.received.length;
      expect((await desk.change(/^Repeat the event/, {}, {}, 'Repeat')).line).toMatch(/webhooks repeat.*done/);
      await eventually(() => receiver.received.length > before);
      await desk.change('Stop it');
      await shows(page, '.facts', 'stopped');
      await desk.change('Start it');
      const from = new Date(Date.now() - 3_600_000).toISOString().slice(0, 16);
      expect((await desk.change('Send all again', { from })).question).toContain('Send all events since');
      expect((await desk.change('New secret', { overlapMinutes: '60' }, { key: key.token })).secret).toMatch(SECRET);
      await shows(page, '.facts', 'Old secret signs until');
      await desk.change('Remove it', {}, { key: key.token });
      await shows(page, '.none', 'Events are sent nowhere.');
    });

    extra('of a key that is made for a colleague, rotated and revoked', async () => {
      const desk = await open('admin', ON_PHONE);
      const { page, key } = desk;
      await desk.press('Keys');
      await shows(page, 'h1', 'Server keys');
      const name = freshId('Ada');
      const { question, secret: first } = await desk.change('Make a key', { name, expiresInDays: '30' }, { key: key.token });
      expect(question).toBe(`Make the server key "${name}" for admin:support, for 30 days?`);
      const id = first.split('_')[2]!;
      const { secret: second } = await desk.change(`Rotate the key ${id}`, { overlapDays: '1' }, { key: key.token }, 'Rotate');
      for (const token of [first, second]) await eventually(async () => (await statusWith(service.url, token)) === 200);
      await desk.change(`Revoke the key ${id}`, {}, { key: key.token }, 'Revoke');
      await eventually(async () => (await statusWith(service.url, first)) === 401);
      await shows(page, 'tr', new RegExp(`${name}.*revoked`));
      // With a lost answer the secret is lost too, because the page does not send the request twice.
      await page.route('**/console/keys', async (route) => {
        await route.fetch();
        await route.abort();
      });
      await desk.ask('Make a key', { name: freshId('lost') });
      await desk.fill({ key: key.token });
      await desk.press('Make a key', 'dialog');
      await shows(page, 'dialog .warning', 'lost with the answer');
    });
  });

  describe('is hard to misuse', () => {
    extra.each([
      ['viewer', ['Show', 'Show'], 'Start Accounts Boards Rooms Purchases Log Webhooks Health'],
      [
        'support',
        ['Ban', 'Correct the balance', 'Rename', 'Write a note', 'Sign out everywhere', 'Show', 'Show'],
        'Start Accounts Boards Rooms Purchases Log Webhooks Health',
      ],
    ] as const)('the role %s sees no button for what it may not do', async (role, buttons, places) => {
      const desk = await open(role);
      await desk.search((await aPlayer()).installId);
      // `Show` is that of the filters of the ledger and of the events.
      expect(await desk.page.locator('main button').allTextContents()).toEqual(buttons);
      expect((await desk.page.locator('nav a').allTextContents()).join(' ')).toBe(places);
    });

    extra('what users and operators wrote stays text', async () => {
      const desk = await open('support');
      const { page } = desk;
      const { installId, accountId } = await aPlayer();
      const evil = '<img src=x onerror=document.title=1><b>';
      // A banned player is on no board.
      await service.post('/v1/highscores/pebble-drop', { installId: freshId(), score: 3, name: evil.slice(0, 24) });
      const { code } = (await service.post('/v1/rooms', { installId, name: '<b>x</b>' })).body.room;
      await service.post(`/v1/rooms/${code}/state`, { installId, state: { text: `</pre>${evil}` } });
      await service.post('/v1/coins/credit', { installId, coins: 1, key: `<i>${evil}</i>` });
      await service.post(`/v1/admin/accounts/${accountId}/ban`, { reason: evil }, { bearer: keys.get('admin')!.token });
      for (const [place, selector, text] of [
        [`accounts/${accountId}`, 'dd', evil],
        [`rooms/${code}`, 'pre', '</pre>'],
        ['boards/pebble-drop', 'td', '<img'],
        ['log', 'td', evil],
        [`rooms/${encodeURIComponent('<b>x</b>')}`, '.card', 'room'],
        [`accounts/${encodeURIComponent('../log')}`, '.card', 'accountId'],
        ['constructor/x', '.lead', 'Search for'],
      ] as const) {
        await page.goto(`${service.url}/console#/${place}`);
        await shows(page, selector, new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`), 'i'));
        await page.locator('main:not([aria-busy])').waitFor();
        expect([await page.locator('main img, main i, main b').count(), (await page.title()) === '1']).toEqual([0, false]);
      }
    });

    extra('a confirmation of what is no longer so changes nothing, and the new question is shown', async () => {
      const desk = await open('support');
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      await desk.ask('Correct the balance', { coins: '-100' });
      await service.post('/v1/coins/credit', { installId, coins: 7, key: 'more' });
      await desk.press('Correct the balance', 'dialog');
      await shows(desk.page, 'dialog .problem', 'Nothing was changed');
      await shows(desk.page, 'dialog .question', 'which has 107 and will have 7');
      expect((await shown(accountId)).balanceCoins).toBe(107);
      await desk.confirm('Correct the balance');
      expect((await shown(accountId)).balanceCoins).toBe(7);
      // The account is deleted between the question and the answer.
      await desk.ask('Ban');
      await service.post(`/v1/admin/accounts/${accountId}/delete`, { reason: 'asked' }, { bearer: keys.get('admin')!.token });
      await desk.press('Ban', 'dialog');
      await shows(desk.page, 'dialog .problem', 'This account was deleted');
      // Escape closes the dialog, and the focus is where it was.
      await desk.page.keyboard.press('Escape');
      await desk.page.locator('dialog').waitFor({ state: 'detached' });
      expect(await desk.page.evaluate('document.activeElement.textContent')).toBe('Ban');
    });

    extra('a change whose answer or whose request is lost happens once', async () => {
      const desk = await open('support');
      const { page } = desk;
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      let lose: 'answer' | 'request' | undefined;
      await page.route('**/adjust', async (route) => {
        const now = lose;
        lose = undefined;
        if (now === 'answer') await route.fetch();
        await (now === undefined ? route.continue() : route.abort());
      });
      for (const [lost, coins, ticket] of [
        ['answer', '5', 'ticket-4711'],
        ['request', '6', 'ticket-4712'],
      ] as const) {
        await desk.ask('Correct the balance', { coins, ticket });
        lose = lost;
        expect((await desk.confirm('Correct the balance')).line).toMatch(/accounts adjust.*done/);
      }
      const { history } = await shown(accountId);
      expect(history.map((entry: { coins: number }) => entry.coins)).toEqual([6, 5, 100]);
      // The same ticket again is a replay.
      const again = await desk.ask('Correct the balance', { coins: '6', ticket: 'ticket-4712', reason: 'a colleague did it too' });
      expect(again).toMatch(/^Nothing will change: this ticket .*which has 111\?/);
      await desk.press('Correct the balance', 'dialog');
      await shows(page, 'dialog', 'Nothing changed: this ticket was booked before');
      expect((await shown(accountId)).balanceCoins).toBe(111);
    });

    extra('revoking the key, and signing out, end what the page shows', async () => {
      const key = await makeServerKey(service, ['admin'], { role: 'support' });
      const desk = await open('support', {}, key);
      await desk.search((await aPlayer()).installId);
      await keyChangesOf(service).revoke(key.id);
      await eventually(async () => (await service.get('/console/session', { bearer: key.token })).status === 401);
      await desk.press('Health');
      await shows(desk.page, '[role=status]', 'revoked');
      expect(await desk.page.locator('[role=search]').count()).toBe(0);
      const other = await open('viewer');
      await other.press('Sign out');
      await shows(other.page, 'h1', 'Sign in');
      await other.page.reload();
      await shows(other.page, 'h1', 'Sign in');
      await other.page.fill('[name=key]', `coinop_sk_abcdefgh_${'x'.repeat(32)}`);
      await other.press('Sign in');
      await shows(other.page, '.said', 'is not valid');
    });

    extra('pages of other sites and of other ports neither frame the console nor act through it', async () => {
      const desk = await open('admin');
      const { installId, accountId } = await aPlayer();
      await desk.search(installId);
      const html = `<iframe src="${service.url}/console"></iframe>`;
      const evil = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html));
      await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
      const { port } = evil.address() as AddressInfo;
      for (const host of ['127.0.0.1', 'localhost']) {
        const page = await desk.page.context().newPage();
        await page.goto(`http://${host}:${port}/`);
        await page.waitForLoadState('networkidle');
        const framed = page.frames()[1]!.evaluate('document.body?.innerText ?? ""');
        expect(await framed.catch(() => '')).not.toContain('coinop');
        const forge = async ([url, id]: readonly [string, string]): Promise<number[]> => {
          const asked = { method: 'POST', credentials: 'include', body: JSON.stringify({ reason: 'forged' }) } as const;
          const json = { 'content-type': 'application/json' };
          const tries: RequestInit[] = [
            { ...asked, mode: 'no-cors' },
            { ...asked, headers: json },
            { ...asked, headers: { ...json, 'x-console': 'look' } },
          ];
          const statusOf = (each: RequestInit) => fetch(`${url}/v1/admin/accounts/${id}/ban`, each).then(({ status }) => status);
          return Promise.all(tries.map((each) => statusOf(each).catch(() => 0)));
        };
        expect(await page.evaluate(forge, [service.url, accountId] as const)).not.toContain(200);
      }
      evil.closeAllConnections();
      await new Promise((resolve) => evil.close(resolve));
      const { state, history } = await shown(accountId);
      expect([state, history.length]).toEqual(['open', 1]);
    });
  });
});
