import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { extra, journey, noBrowser, press } from './chromium.ts';
import { axeProblems, FAILED, inBrowser, keepPicture, layoutShift, playgroundReady, shows } from './page-checks.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

describe.skipIf(noBrowser)('pairing', () => {
  const browser = inBrowser();
  /** With its playground, as in development. */
  let service: TestService;
  /** As in production: without a playground, with an app. */
  let plain: TestService;
  beforeAll(async () => {
    service = await start();
    plain = await start({ settings: { PLAYGROUND: 'off', APP_LINK: 'mygame://pair/{token}' } });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await plain?.[Symbol.asyncDispose]();
  });

  /** The website of the playground, with an open pairing. */
  async function openWebsite(at = service, expected = FAILED): Promise<{ website: Page; link: string; token: string }> {
    const website = await browser.open(`${at.url}#pairing`, expected);
    await playgroundReady(website);
    await press(website, '#pairing-open');
    await website.locator('#pairing-qr img').waitFor();
    await shows(website, '#pairing-left', /^Valid for [23]:\d\d$/);
    const link = at.url + (await website.getAttribute('#pairing-link', 'href'))!;
    return { website, link, token: new URL(link).searchParams.get('token')! };
  }

  const pageOf = (token: string, context: BrowserContext, from = plain): Promise<Page> =>
    browser.open(`${from.url}/pair?token=${token}`, FAILED, context);

  /** A phone's browser, whose user has a session on the service. */
  async function openPhone(token: string, { signedIn = true, from = plain, colorScheme = 'light' as 'light' | 'dark' } = {}) {
    const context = await browser.newContext({ ...PHONE, colorScheme });
    const installId = freshId('phone');
    if (signedIn) await context.request.post(`${from.url}/v1/login`, { data: { installId } });
    return { phone: await pageOf(token, context, from), context, installId };
  }

  /** A phone at the question for a pairing. */
  async function asked(from = plain, headers: Record<string, string> = {}) {
    const pairing = (await from.post('/v1/pair/new', { session: 'token' }, { headers })).body;
    const opened = await openPhone(pairing.token, { from });
    await shows(opened.phone, 'h1', 'Sign in the other screen?');
    return { ...opened, token: pairing.token as string, pairing };
  }

  const opened = async (from = plain): Promise<string> => (await from.post('/v1/pair/new', { session: 'token' })).body.token;
  const statusOf = async (token: string): Promise<string> => (await plain.get(`/v1/pair/status?token=${token}`)).body.status;
  const answer = async (phone: Page, label: 'Yes, sign it in' | 'No, refuse', heading: string): Promise<void> => {
    await press(phone, `button:text("${label}")`);
    await shows(phone, 'h1', heading);
  };

  journey('a phone without an account makes a test player after asking, and signs the website in the moment it confirms', async () => {
    const { website, link } = await openWebsite();
    expect(await website.evaluate(`document.querySelector('#pairing-qr img').naturalWidth`)).toBeGreaterThan(100);
    const phone = await browser.open(link, undefined, PHONE);
    await shows(phone, 'h1', 'Who are you here?');
    expect(await phone.evaluate('localStorage.length')).toBe(0);
    await press(phone, 'button:text("Make a test player")');
    await shows(phone, 'h1', 'Sign in the other screen?');
    await shows(website, '#pairing-said', 'A phone has scanned the code.');
    expect(await phone.textContent('#match-code')).toBe(await website.textContent('#pairing-match'));
    await answer(phone, 'Yes, sign it in', 'Done');
    await shows(website, '#pairing-said', /^Signed in as \S+, with 0 coins\.$/);
  });

  extra('the player of the playground claims in a second tab, and is replaced after asking once its session has ended', async () => {
    const { website, link } = await openWebsite(service, new RegExp(`${FAILED.source}|the store was emptied`));
    // The step about coins is closed.
    await press(website, '#coins-earn');
    await expect.poll(() => website.textContent('#coins-balance')).toBe('25');
    const tab = await browser.open(link, FAILED, website.context());
    await shows(tab, '#requester', 'the player of the playground');
    await press(tab, 'button:text("Yes, sign it in")');
    await shows(website, '#pairing-said', 'with 25 coins');
    const { sessionToken } = JSON.parse((await website.evaluate(`localStorage.getItem('playground-me:me')`)) as string);
    await service.post('/v1/logout', {}, { bearer: sessionToken });
    const next = await pageOf(await opened(service), website.context(), service);
    await shows(next, 'h1', 'Who are you here?');
  });

  journey(
    'a phone with a session sees the match code, the asking browser as plain text and the expiry, and claims after confirm',
    async () => {
      const { phone, token, pairing } = await asked(plain, { 'user-agent': '<b onclick="a()">Chrome</b> 100' });
      await shows(phone, '#match-code', pairing.matchCode);
      await shows(phone, '#requester', '<b onclick="a()">Chrome</b>');
      expect(await phone.locator('#requester b').count()).toBe(0);
      await shows(phone, '#left', /^This code expires in 2:5\d$/);
      expect(await phone.getAttribute('a.button', 'href')).toBe(`mygame://pair/${token}`);
      // Looking has claimed nothing.
      expect(await statusOf(token)).toBe('scanned');
      await keepPicture(phone, 'pair-390-light');
      expect(await axeProblems(phone)).toEqual([]);
      expect(await layoutShift(phone)).toBeLessThan(0.1);
      await answer(phone, 'Yes, sign it in', 'Done');
      const { body } = await plain.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': pairing.secret } });
      expect(body).toEqual({ ok: true, status: 'claimed', claimedBy: {}, sessionToken: expect.any(String) });
    },
  );

  extra('without a session it makes no account, and goes on once this browser has signed in', async () => {
    const token = await opened();
    const { phone, context, installId } = await openPhone(token, { signedIn: false, colorScheme: 'dark' });
    await shows(phone, 'h1', 'Sign in here first');
    await shows(phone, '#lead', 'If you play on a website, open it on this device');
    expect(await phone.locator('button:text("Make a test player")').count()).toBe(0);
    expect([await phone.evaluate('localStorage.length'), await context.cookies(), await statusOf(token)]).toEqual([0, [], 'pending']);
    await keepPicture(phone, 'pair-390-dark');
    expect(await axeProblems(phone)).toEqual([]);
    await context.request.post(`${plain.url}/v1/login`, { data: { installId } });
    await press(phone, 'button:text("Try again")');
    await shows(phone, 'h1', 'Sign in the other screen?');
  });

  extra('with the session of a deleted account, or one that ended meanwhile, it says so, and claims nothing', async () => {
    const { phone, context, installId, token } = await asked();
    await context.request.post(`${plain.url}/v1/logout`, { data: {} });
    await answer(phone, 'Yes, sign it in', 'Sign in here first');
    expect(await statusOf(token)).toBe('scanned');
    await context.request.post(`${plain.url}/v1/login`, { data: { installId } });
    const { confirm } = (await plain.post('/v1/account/delete', { installId })).body;
    await plain.post('/v1/account/delete', { installId, confirm });
    const next = await opened();
    const page = await pageOf(next, context);
    await shows(page, 'h1', 'Sign in here first');
    await page.locator('text=The account of this browser was deleted.').first().waitFor();
    expect(await statusOf(next)).toBe('pending');
  });

  extra('a refusal signs nobody in, and both screens say so', async () => {
    const { website, token } = await openWebsite();
    const { phone } = await openPhone(token, { from: service });
    await answer(phone, 'No, refuse', 'Refused');
    await shows(website, '#pairing-said', 'The phone refused. Nobody was signed in.');
    await press(website, '#pairing-open');
    await shows(website, '#pairing-said', 'Waiting for a phone.');
  });

  extra('a pairing that expires while it is shown says so on both screens, and a new code works', async () => {
    await using moving = await start();
    const { website, token } = await openWebsite(moving);
    const { phone } = await openPhone(token, { from: moving });
    await shows(phone, 'h1', 'Sign in the other screen?');
    moving.advance(181_000);
    await shows(phone, 'h1', 'This code has expired');
    await shows(website, '#pairing-said', 'The code expired before a phone claimed it.');
    await press(website, '#pairing-open');
    await shows(website, '#pairing-said', 'Waiting for a phone.');
  });

  extra.each<[what: string, heading: string, token: () => string | Promise<string>]>([
    ['a link without a token', 'This link is not complete', () => ''],
    ['a link with markup', 'This link is not complete', () => '%3Cscript%3Ealert(1)%3C%2Fscript%3E'],
    ['an unknown code', 'This code is gone', () => 'A'.repeat(24)],
    ['a refused code', 'This sign-in was refused', () => ended('scan', 'deny')],
    ['a claimed code', 'Somebody else took this code', () => ended('confirm')],
  ])('%s is explained, also to a phone without a player, which is not asked to make one', async (_, heading, token) => {
    for (const [from, signedIn] of [
      [plain, true],
      [service, false],
    ] as const) {
      const { phone } = await openPhone(await token(), { from, signedIn });
      await shows(phone, 'h1', heading);
      expect(await phone.locator('#actions *').count()).toBe(0);
    }
  });

  /** The token of a pairing after these steps of another phone. Both services share their data. */
  async function ended(...steps: string[]): Promise<string> {
    const [token, installId] = [await opened(), freshId()];
    for (const step of steps) await plain.post('/v1/pair/claim', { token, installId, step });
    return token;
  }

  extra.each([
    ['Yes, sign it in', 'Done', ['Show my signed-in browsers']],
    ['No, refuse', 'Refused', []],
  ] as const)('a second tab of the phone says what the first answered: %s', async (label, heading, buttons) => {
    const { phone, context, token } = await asked();
    const second = await pageOf(token, context);
    await shows(second, 'h1', 'Sign in the other screen?');
    await answer(phone, label, heading);
    await shows(second, 'h1', heading);
    await expect.poll(() => second.locator('#actions *').allTextContents()).toEqual(buttons);
  });

  extra('a phone sees the browsers that it signed in, and ends one', async () => {
    const userAgent = '<b>Chrome</b> 100';
    const { phone, token, pairing } = await asked(plain, { 'user-agent': userAgent });
    await phone.fill('#name', 'Ada');
    await answer(phone, 'Yes, sign it in', 'Done');
    const { body } = await plain.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': pairing.secret } });
    expect(body.claimedBy).toEqual({ name: 'Ada' });
    await press(phone, 'button:text("Show my signed-in browsers")');
    await shows(phone, '#browser-list li', `${userAgent} · by a QR code`);
    expect([await phone.locator('#browser-list li').count(), await phone.locator('#browser-list b').count()]).toEqual([2, 0]);
    await shows(phone, '#browser-list strong', 'This one');
    expect(await axeProblems(phone)).toEqual([]);
    await keepPicture(phone, 'pair-browsers-390-light', true);
    await press(phone, '#browser-list button');
    await shows(phone, '#browsers-said', 'The session has ended.');
    expect(await phone.locator('#browser-list li').count()).toBe(1);
    expect((await plain.get('/v1/session', { bearer: body.sessionToken })).body.error.code).toBe('session_required');
  });

  extra('a service that is away for a moment is explained, and the same code works afterwards, by keyboard alone', async () => {
    const { phone } = await asked();
    await phone.route('**/v1/pair/claim', (route) => route.abort());
    await answer(phone, 'Yes, sign it in', 'That did not work');
    await shows(phone, '#lead', 'The service does not answer.');
    await phone.unroute('**/v1/pair/claim');
    await press(phone, 'button:text("Try again")');
    await shows(phone, 'h1', 'Sign in the other screen?');
    await phone.focus('#name');
    await phone.keyboard.press('Tab');
    expect(await phone.evaluate('document.activeElement.textContent')).toBe('Yes, sign it in');
    await phone.keyboard.press('Enter');
    await shows(phone, 'h1', 'Done');
    expect(await phone.evaluate('document.activeElement.id')).toBe('heading');
  });
});
