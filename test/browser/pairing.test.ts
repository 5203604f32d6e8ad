import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { extra, launch, noBrowser, press } from './chromium.ts';
import { axeProblems, keepPicture, layoutShift, openChecked, playgroundReady, shows } from './page-checks.ts';

/** Chromium logs requests that fail, and refused upgrades. */
const FAILED = /Failed to load resource|WebSocket connection to .* failed/;

describe.skipIf(noBrowser)('pairing', { timeout: 120_000 }, () => {
  let browser: Browser;
  /** With its playground, as in development. */
  let service: TestService;
  /** As in production: without a playground, with an app. */
  let plain: TestService;
  const contexts: BrowserContext[] = [];
  let allFaults: string[][] = [];
  beforeAll(async () => {
    browser = await launch();
    service = await start();
    plain = await start({ settings: { PLAYGROUND: 'off', APP_LINK: 'mygame://pair/{token}' } });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
    await plain?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    const faults = allFaults.flat();
    allFaults = [];
    expect(faults).toEqual([]);
  });

  /** A page in a browser of its own. */
  async function open(address: string, expected?: RegExp, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await browser.newContext(options);
    contexts.push(context);
    const { page, faults } = await openChecked(context, address, expected);
    allFaults.push(faults);
    return page;
  }

  /** The website of the playground, with an open pairing. */
  async function openWebsite(): Promise<{ website: Page; link: string }> {
    const website = await open(service.url);
    await playgroundReady(website);
    await press(website, '#pairing-open');
    await website.locator('#pairing-qr img').waitFor();
    await shows(website, '#pairing-left', /^Valid for [23]:\d\d$/);
    return { website, link: service.url + (await website.getAttribute('#pairing-link', 'href'))! };
  }

  /** A phone's browser, whose user has a session on the service. */
  async function openPhone(
    from: TestService,
    token: string,
    { signedIn = true, expected }: { signedIn?: boolean; expected?: RegExp } = {},
  ) {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    contexts.push(context);
    const installId = freshId('phone');
    if (signedIn) await context.request.post(`${from.url}/v1/login`, { data: { installId } });
    const { page, faults } = await openChecked(context, `${from.url}/pair?token=${token}`, expected);
    allFaults.push(faults);
    return { phone: page, context, installId };
  }

  const opened = async (from: TestService): Promise<{ token: string; matchCode: string; secret: string }> =>
    (await from.post('/v1/pair/new', { session: 'token' })).body;
  const statusOf = async (from: TestService, token: string): Promise<string> =>
    (await from.get(`/v1/pair/status?token=${token}`)).body.status;

  test('a phone without an account makes a test player after asking, and signs the website in the moment it confirms', async () => {
    const { website, link } = await openWebsite();
    expect(await website.evaluate(`document.querySelector('#pairing-qr img').naturalWidth`)).toBeGreaterThan(100);
    const phone = await open(link, undefined, { viewport: { width: 390, height: 844 } });
    await shows(phone, 'h1', 'Who are you here?');
    expect(await phone.evaluate('localStorage.length')).toBe(0);
    await press(phone, 'button:text("Make a test player")');
    await shows(phone, 'h1', 'Sign in the other screen?');
    await shows(website, '#pairing-said', 'A phone has scanned the code.');
    expect(await phone.textContent('#match-code')).toBe(await website.textContent('#pairing-match'));
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'Done');
    await shows(website, '#pairing-said', /^Signed in as \S+, with 0 coins\.$/);
    await shows(website, '#pairing-qr', 'Signed in');
  });

  extra('the player of the playground claims in a second tab, and the website shows the coins of that player', async () => {
    const { website, link } = await openWebsite();
    await press(website, '#coins-earn');
    await shows(website, '#coins-balance', /^25$/);
    const { page: tab, faults } = await openChecked(website.context(), link);
    allFaults.push(faults);
    await shows(tab, '#requester', 'the player of the playground');
    await press(tab, 'button:text("Yes, sign it in")');
    await shows(website, '#pairing-said', 'with 25 coins');
  });

  extra('a player of the playground whose session has ended is replaced after asking', async () => {
    const { website, link } = await openWebsite();
    await press(website, '#coins-earn');
    await shows(website, '#coins-balance', /^25$/);
    const { sessionToken } = JSON.parse((await website.evaluate(`localStorage.getItem('playground-me:me')`)) as string);
    await service.post('/v1/logout', {}, { bearer: sessionToken });
    const { page: tab, faults } = await openChecked(website.context(), link, FAILED);
    allFaults.push(faults);
    await shows(tab, 'h1', 'Who are you here?');
    await press(tab, 'button:text("Make a test player")');
    await shows(tab, 'h1', 'Sign in the other screen?');
  });

  test('a phone with a session sees the match code, the asking browser as plain text and the expiry, and claims after confirm', async () => {
    const userAgent = '<b onclick="a()">Chrome</b> 100';
    const made = (await plain.post('/v1/pair/new', { session: 'token' }, { headers: { 'user-agent': userAgent } })).body;
    const { phone } = await openPhone(plain, made.token);
    await shows(phone, 'h1', 'Sign in the other screen?');
    await shows(phone, '#match-code', made.matchCode);
    await shows(phone, '#requester', '<b onclick="a()">Chrome</b>');
    expect(await phone.locator('#requester b').count()).toBe(0);
    await shows(phone, '#left', /^This code expires in 2:5\d$/);
    expect(await phone.getAttribute('a.button', 'href')).toBe(`mygame://pair/${made.token}`);
    // Looking has claimed nothing.
    expect(await statusOf(plain, made.token)).toBe('scanned');
    await keepPicture(phone, 'pair-390-light');
    expect(await axeProblems(phone)).toEqual([]);
    expect(await layoutShift(phone)).toBeLessThan(0.1);
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'Done');
    const { body } = await plain.get(`/v1/pair/status?token=${made.token}`, { headers: { 'x-pair-secret': made.secret } });
    expect(body).toEqual({ ok: true, status: 'claimed', claimedBy: {}, sessionToken: expect.any(String) });
  });

  extra('without a session it makes no account, and goes on once this browser has signed in', async () => {
    const { token } = await opened(plain);
    const { phone, context, installId } = await openPhone(plain, token, { signedIn: false });
    await shows(phone, 'h1', 'Sign in here first');
    await shows(phone, '#lead', 'If you play on a website, open it on this device');
    await phone.locator('button:text("Copy the link")').waitFor();
    expect(await phone.locator('button:text("Make a test player")').count()).toBe(0);
    expect(await phone.evaluate('localStorage.length')).toBe(0);
    expect(await context.cookies()).toEqual([]);
    expect(await statusOf(plain, token)).toBe('pending');
    expect(await axeProblems(phone)).toEqual([]);
    await context.request.post(`${plain.url}/v1/login`, { data: { installId } });
    await press(phone, 'button:text("Try again")');
    await shows(phone, 'h1', 'Sign in the other screen?');
  });

  extra('with the session of a deleted account it says so, and claims nothing', async () => {
    const { token } = await opened(plain);
    const { phone, context, installId } = await openPhone(plain, token);
    await shows(phone, 'h1', 'Sign in the other screen?');
    const { confirm } = (await plain.post('/v1/account/delete', { installId })).body;
    expect((await plain.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
    const next = await opened(plain);
    const { page, faults } = await openChecked(context, `${plain.url}/pair?token=${next.token}`, FAILED);
    allFaults.push(faults);
    await shows(page, 'h1', 'Sign in here first');
    await page.locator('text=The account of this browser was deleted.').first().waitFor();
    expect(await statusOf(plain, next.token)).toBe('pending');
  });

  extra('a refusal signs nobody in, and both screens say so', async () => {
    const { website, link } = await openWebsite();
    const { phone } = await openPhone(service, new URL(link).searchParams.get('token')!);
    await press(phone, 'button:text("No, refuse")');
    await shows(phone, 'h1', 'Refused');
    await shows(website, '#pairing-said', 'The phone refused. Nobody was signed in.');
    await press(website, '#pairing-open');
    await shows(website, '#pairing-said', 'Waiting for a phone.');
  });

  extra('a pairing that expires while it is shown says so on both screens, and a new code works', async () => {
    await using moving = await start();
    const website = await open(moving.url, FAILED);
    await playgroundReady(website);
    await press(website, '#pairing-open');
    await website.locator('#pairing-qr img').waitFor();
    const token = new URL((await website.getAttribute('#pairing-link', 'href'))!, moving.url).searchParams.get('token')!;
    const { phone } = await openPhone(moving, token, { expected: FAILED });
    await shows(phone, 'h1', 'Sign in the other screen?');
    moving.advance(181_000);
    await shows(phone, 'h1', 'This code has expired');
    await shows(website, '#pairing-said', 'The code expired before a phone claimed it.');
    await press(website, '#pairing-open');
    await shows(website, '#pairing-said', 'Waiting for a phone.');
  });

  extra('both screens say that a code has expired when they wake up, before the service tells them', async () => {
    const website = await open(service.url, FAILED);
    await website.clock.install();
    await website.reload();
    await playgroundReady(website);
    await press(website, '#pairing-open');
    await website.locator('#pairing-qr img').waitFor();
    const { token } = await opened(plain);
    const { phone } = await openPhone(plain, token);
    await phone.clock.install();
    await phone.reload();
    await shows(phone, '#left', /^This code expires in 2:\d\d$/);
    for (const screen of [website, phone]) await screen.clock.fastForward(181_000);
    await shows(phone, '#left', 'This code has expired');
    await shows(website, '#pairing-said', 'The code expired before a phone claimed it.');
    expect(await website.getAttribute('#pairing-link', 'href')).toBe(null);
  });

  extra.each([
    ['', 'This link is not complete'],
    ['BCDFG', 'This link is not complete'],
    ['%3Cscript%3Ealert(1)%3C%2Fscript%3E', 'This link is not complete'],
    ['A'.repeat(24), 'This code is gone'],
  ])('the token "%s" of no pairing is explained', async (token, heading) => {
    const { phone } = await openPhone(plain, token, { expected: FAILED });
    await shows(phone, 'h1', heading);
    expect(await phone.locator('#actions *').count()).toBe(0);
  });

  extra('nobody is asked to make a player for a code that is over', async () => {
    const denied = await opened(service);
    const refuser = freshId();
    for (const step of ['scan', 'deny']) await service.post('/v1/pair/claim', { token: denied.token, installId: refuser, step });
    const claimed = await opened(service);
    await service.post('/v1/pair/claim', { token: claimed.token, installId: freshId() });
    for (const [token, heading] of [
      ['A'.repeat(24), 'This code is gone'],
      [denied.token, 'This sign-in was refused'],
      [claimed.token, 'Somebody else took this code'],
    ] as const) {
      const { phone } = await openPhone(service, token, { signedIn: false, expected: FAILED });
      await shows(phone, 'h1', heading);
      expect(await phone.locator('#actions *').count()).toBe(0);
    }
  });

  extra('a second tab of the phone says that the first has claimed or refused', async () => {
    for (const [label, heading] of [
      ['Yes, sign it in', 'Done'],
      ['No, refuse', 'Refused'],
    ] as const) {
      const { token } = await opened(plain);
      const { phone, context } = await openPhone(plain, token);
      await shows(phone, 'h1', 'Sign in the other screen?');
      const { page: second, faults } = await openChecked(context, phone.url());
      allFaults.push(faults);
      await shows(second, 'h1', 'Sign in the other screen?');
      await press(phone, `button:text("${label}")`);
      await shows(phone, 'h1', heading);
      await shows(second, 'h1', heading);
      await expect
        .poll(() => second.locator('#actions *').allTextContents())
        .toEqual(heading === 'Done' ? ['Show my signed-in browsers'] : []);
    }
  });

  extra('a photographer who scans first locks nobody out, and who loses the code does not read that it is done', async () => {
    const { token } = await opened(plain);
    const photographer = freshId();
    await plain.post('/v1/pair/claim', { token, installId: photographer, step: 'scan' });
    const { phone } = await openPhone(plain, token, { expected: FAILED });
    await shows(phone, 'h1', 'Sign in the other screen?');
    await press(phone, 'button:text("No, refuse")');
    await shows(phone, 'h1', 'This code is still open');
    expect(await statusOf(plain, token)).toBe('scanned');
    const { phone: slow } = await openPhone(plain, token, { expected: FAILED });
    await shows(slow, 'h1', 'Sign in the other screen?');
    await plain.post('/v1/pair/claim', { token, installId: photographer });
    await shows(slow, 'h1', 'Somebody else took this code');
  });

  extra('a phone sees the browsers that it signed in, and ends one', async () => {
    const userAgent = '<b>Chrome</b> 100';
    const { body: first } = await plain.post('/v1/pair/new', { session: 'token' }, { headers: { 'user-agent': userAgent } });
    const { phone } = await openPhone(plain, first.token);
    await shows(phone, 'h1', 'Sign in the other screen?');
    await phone.fill('#name', 'Ada');
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'Done');
    const { body } = await plain.get(`/v1/pair/status?token=${first.token}`, { headers: { 'x-pair-secret': first.secret } });
    expect(body.claimedBy).toEqual({ name: 'Ada' });
    await press(phone, 'button:text("Show my signed-in browsers")');
    await shows(phone, '#browser-list li', `${userAgent} · by a QR code`);
    expect(await phone.locator('#browser-list li').count()).toBe(2);
    expect(await phone.locator('#browser-list b').count()).toBe(0);
    await shows(phone, '#browser-list strong', 'This one');
    expect(await axeProblems(phone)).toEqual([]);
    await keepPicture(phone, 'pair-browsers-390-light', true);
    await press(phone, '#browser-list button');
    await shows(phone, '#browsers-said', 'The session has ended.');
    expect(await phone.locator('#browser-list li').count()).toBe(1);
    expect((await plain.get('/v1/session', { bearer: body.sessionToken })).body.error.code).toBe('session_required');
  });

  extra('a confirm whose session ended meanwhile is explained, and claims nothing', async () => {
    const { token } = await opened(plain);
    const { phone, context } = await openPhone(plain, token, { expected: FAILED });
    await shows(phone, 'h1', 'Sign in the other screen?');
    await context.request.post(`${plain.url}/v1/logout`, { data: {} });
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'Sign in here first');
    expect(await statusOf(plain, token)).toBe('scanned');
  });

  extra('a service that is away for a moment is explained, and the same code works afterwards', async () => {
    const { token } = await opened(plain);
    const { phone } = await openPhone(plain, token, { expected: FAILED });
    await shows(phone, 'h1', 'Sign in the other screen?');
    await phone.route('**/v1/pair/claim', (route) => route.abort());
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'That did not work');
    await shows(phone, '#lead', 'The service does not answer.');
    await phone.unroute('**/v1/pair/claim');
    await press(phone, 'button:text("Try again")');
    await press(phone, 'button:text("Yes, sign it in")');
    await shows(phone, 'h1', 'Done');
  });

  extra('the page works by keyboard, and moves the focus to what it says', async () => {
    const { token } = await opened(plain);
    const { phone } = await openPhone(plain, token);
    await shows(phone, 'h1', 'Sign in the other screen?');
    await phone.focus('#name');
    await phone.keyboard.press('Tab');
    expect(await phone.evaluate('document.activeElement.textContent')).toBe('Yes, sign it in');
    await phone.keyboard.press('Enter');
    await shows(phone, 'h1', 'Done');
    expect(await phone.evaluate('document.activeElement.id')).toBe('heading');
  });

  extra('the page in the dark has enough contrast', async () => {
    const { token } = await opened(plain);
    const phone = await open(`${plain.url}/pair?token=${token}`, undefined, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await shows(phone, 'h1', 'Sign in here first');
    await keepPicture(phone, 'pair-390-dark');
    expect(await axeProblems(phone)).toEqual([]);
  });
});
