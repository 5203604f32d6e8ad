import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { issue } from '../client/sandbox.ts';
import { complaints, example, extra, launch, noBrowser, press, servePages } from './chromium.ts';
import { fixedPort, startMain } from './own-service.ts';

/** Chromium logs requests that fail. */
const FAILED = /Failed to load resource|WebSocket connection to .* failed/;

describe.skipIf(noBrowser)('in a browser', { timeout: 60_000 }, () => {
  let browser: Browser;
  let service: TestService;
  const ownPort = fixedPort();
  const ownUrl = `http://127.0.0.1:${ownPort}`;
  let site: Awaited<ReturnType<typeof servePages>>;
  beforeAll(async () => {
    browser = await launch();
    site = await servePages(() => ({ '/game': example('game.html', service.url), '/own': example('game.html', ownUrl), '/plain': '' }));
    service = await start({ settings: { ALLOWED_ORIGINS: site.origin, STORE: 'sandbox' } });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
    await site?.[Symbol.asyncDispose]();
  });

  const stored = (page: Page, part: string): Promise<number> =>
    page.evaluate((wanted) => Object.keys(localStorage).filter((key) => key.includes(wanted)).length, part);

  test('a credit whose service is killed and whose page is closed is there once after both start again', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'coinop-browser-'));
    let main = await startMain(dataDir, ownPort);
    const context = await browser.newContext();
    const page = await context.newPage();
    const lines = complaints(page, FAILED);
    await page.goto(`${site.origin}/own?name=Ada`);
    await page.locator('#coins', { hasText: /^0$/ }).waitFor();
    // The service applies the credit and dies before the page has the answer.
    const killed = new Promise<void>((resolve, reject) => {
      void page.route(
        '**/v1/coins/credit',
        async (route) => {
          const { ok } = (await (await route.fetch()).json()) as { ok: boolean };
          if (!ok) reject(new Error('the credit was refused'));
          await main.kill();
          await route.abort();
          resolve();
        },
        { times: 1 },
      );
    });
    await press(page, '#earn');
    await killed;
    expect(await stored(page, ':op:')).toBe(1);
    await page.close();

    main = await startMain(dataDir, ownPort);
    const next = await context.newPage();
    lines.push(...complaints(next, FAILED));
    await next.goto(`${site.origin}/own?name=Ada`);
    await next.locator('#coins', { hasText: /^5$/ }).waitFor();
    await expect.poll(() => stored(next, ':op:')).toBe(0);
    await next.reload();
    await next.locator('#coins', { hasText: /^5$/ }).waitFor();
    expect(lines).toEqual([]);
    await context.close();
    await main.kill();
    rmSync(dataDir, { recursive: true, force: true });
  });

  extra('two tabs of one player finish the operations that were made offline, each once', async () => {
    const context = await browser.newContext();
    const pages = [await context.newPage(), await context.newPage()];
    const lines = pages.map((page) => complaints(page, FAILED));
    for (const page of pages) {
      await page.goto(`${site.origin}/game?name=Ada`);
      await page.locator('#coins', { hasText: /^0$/ }).waitFor();
    }
    const keys: string[] = [];
    await context.route(
      '**/v1/coins/credit',
      (route) => (keys.push((route.request().postDataJSON() as { key: string }).key), route.continue()),
    );
    await context.setOffline(true);
    for (const page of pages) for (let times = 0; times < 3; times++) await press(page, '#earn');
    await expect.poll(() => stored(pages[0]!, ':op:')).toBe(6);
    await context.setOffline(false);
    await expect.poll(() => stored(pages[0]!, ':op:'), { timeout: 30_000 }).toBe(0);
    // A tab shows the balance after its own operations, which need not be the last ones.
    for (const page of pages) {
      await page.reload();
      await page.locator('#coins', { hasText: /^30$/ }).waitFor();
    }
    expect(new Set(keys).size).toBe(6);
    expect(lines.flat()).toEqual([]);
    await context.close();
  });

  extra('a tab that nobody touches finishes the credit of a tab that was closed', async () => {
    const context = await browser.newContext();
    const [closing, idle] = [await context.newPage(), await context.newPage()] as const;
    // Only this tab is cut off. The other one hears of nothing but the store.
    await closing.route('**/v1/coins/credit', (route) => route.abort());
    for (const page of [idle, closing]) {
      await page.goto(`${site.origin}/game?name=Ada`);
      await page.locator('#coins', { hasText: /^0$/ }).waitFor();
    }
    await press(closing, '#earn');
    await expect.poll(() => stored(idle, ':op:')).toBe(1);
    await closing.close();
    await idle.locator('#coins', { hasText: /^5$/ }).waitFor();
    expect(await stored(idle, ':op:')).toBe(0);
    await context.close();
  });

  extra('a forbidden or full localStorage stops nothing', async () => {
    const context = await browser.newContext();
    for (const script of [
      `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('forbidden', 'SecurityError'); } })`,
      `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }`,
    ]) {
      const page = await context.newPage();
      const lines = complaints(page);
      await page.addInitScript(script);
      await page.goto(`${site.origin}/game?name=Ada`);
      await page.locator('#coins', { hasText: /^0$/ }).waitFor();
      await press(page, '#earn');
      await page.locator('#coins', { hasText: /^5$/ }).waitFor();
      expect(lines.map((line) => /keeps data in memory/.test(line))).toEqual([true]);
      await page.close();
    }
    await context.close();
  });

  extra('a tab whose operations are held goes on when another tab signs in', async () => {
    const context = await browser.newContext();
    const pages = [await context.newPage(), await context.newPage()] as const;
    const ada = await issue(service, freshId('ada'));
    for (const page of pages) {
      await page.goto(`${site.origin}/plain`);
      await page.evaluate(`import('${service.url}/client.js').then(({ coinop }) => (window.client = coinop({ url: '${service.url}' })))`);
    }
    const run = (page: Page, call: string) => page.evaluate(`client.${call}`);
    await run(pages[0], `store.provision({ token: '${ada}' })`);
    const { sessionToken } = (await run(pages[0], 'who()')) as { sessionToken: string };
    await service.post('/v1/logout', {}, { headers: { authorization: `Bearer ${sessionToken}` } });
    expect(await run(pages[0], 'coins.credit({ coins: 5 })')).toMatchObject({ pending: true, error: { code: 'session_required' } });
    await run(pages[1], `store.provision({ token: '${ada}' })`);
    expect(await run(pages[0], 'coins.credit({ coins: 6 })')).toMatchObject({ ok: true, balanceAfterCoins: 11 });
    await expect.poll(() => stored(pages[0], ':op:')).toBe(0);
    await context.close();
  });

  extra('an operation whose install was lost from the store is finished, and the page goes on with a new install', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const lines = complaints(page);
    const installId = freshId();
    const entry = JSON.stringify([{ type: 'credit', coins: 7, key: 'before' }, `i${installId}`]);
    await page.addInitScript(`localStorage.getItem('game-Ada:me') ?? localStorage.setItem('game-Ada:op:000000001x', '${entry}')`);
    await page.goto(`${site.origin}/game?name=Ada`);
    await expect.poll(() => stored(page, ':op:')).toBe(0);
    await press(page, '#earn');
    await page.locator('#coins', { hasText: /^5$/ }).waitFor();
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(7);
    expect(lines).toEqual([]);
    await context.close();
  });

  test('a tab that was offline, and one that slept on a dead connection, show the room of now', async () => {
    const code = await openRoom();
    const context = await browser.newContext();
    const page = await context.newPage();
    const lines = complaints(page, FAILED);
    const sockets: WebSocketRoute[] = [];
    /** So many of them, the oldest ones, bring no message any more. */
    let dead = 0;
    await page.routeWebSocket(/\/live\b/, (socket) => {
      const place = sockets.push(socket);
      const server = socket.connectToServer();
      server.onMessage((message) => void (place <= dead || socket.send(message)));
    });
    await page.goto(`${site.origin}/game?name=Bob`);
    await page.fill('#code', code);
    await press(page, '#join');
    await page.locator('#state', { hasText: 'live' }).waitFor();

    await context.setOffline(true);
    await sockets[0]!.close({ code: 1001 });
    await page.locator('#state', { hasText: /waiting|connecting/ }).waitFor();
    await setPresses(code, 3);
    await context.setOffline(false);
    await page.locator('#presses', { hasText: /^3$/ }).waitFor();
    await page.locator('#state', { hasText: 'live' }).waitFor();

    // The connection died while the device slept: no close comes, and no message.
    dead = sockets.length;
    await setPresses(code, 4);
    const session = await context.newCDPSession(page);
    await session.send('Page.setWebLifecycleState', { state: 'frozen' });
    await setPresses(code, 5);
    await session.send('Page.setWebLifecycleState', { state: 'active' });
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await page.locator('#presses', { hasText: /^5$/ }).waitFor();
    // The client leaves the dead connection for a new one.
    await expect.poll(() => sockets.length).toBeGreaterThan(dead);
    await page.locator('#state', { hasText: 'live' }).waitFor();
    await setPresses(code, 6);
    await page.locator('#presses', { hasText: /^6$/ }).waitFor();
    expect(lines).toEqual([]);
    await context.close();
  });

  const host = freshId();
  async function openRoom(): Promise<string> {
    return (await service.post('/v1/rooms', { installId: host, name: 'Ada' })).body.room.code as string;
  }
  const setPresses = (code: string, presses: number) => service.post(`/v1/rooms/${code}/state`, { installId: host, state: { presses } });
});
