import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { example, extra, journey, noBrowser, press, servePages } from './chromium.ts';
import { fixedPort, startMain } from './own-service.ts';
import { FAILED, inBrowser, shows } from './page-checks.ts';

/** The examples of docs/examples, on another origin than the service. */
describe.skipIf(noBrowser)('a game in a browser', () => {
  const browser = inBrowser();
  let service: TestService;
  const ownPort = fixedPort();
  let site: Awaited<ReturnType<typeof servePages>>;
  beforeAll(async () => {
    const names = ['game', 'pair', 'claim'];
    site = await servePages(() => ({
      ...Object.fromEntries(names.map((name) => [`/${name}`, example(`${name}.html`, service.url)])),
      '/own': example('game.html', `http://127.0.0.1:${ownPort}`),
    }));
    service = await start({ settings: { ALLOWED_ORIGINS: site.origin } });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await site?.[Symbol.asyncDispose]();
  });

  const stored = (page: Page): Promise<number> => page.evaluate(`Object.keys(localStorage).filter((key) => key.includes(':op:')).length`);

  /** Ada's page, with so many coins. */
  async function openGame(page: Page, coins = 0): Promise<Page> {
    await page.goto(`${site.origin}/game?name=Ada`);
    await shows(page, '#coins', new RegExp(`^${coins}$`));
    return page;
  }

  async function earn(page: Page, times = 1): Promise<void> {
    for (let count = 0; count < times; count++) await press(page, '#earn');
  }

  journey('two players of one browser play', async () => {
    const context = await browser.newContext();
    // Chromium logs a refused request as an error of the network.
    const [ada, bob] = [await openGame(await browser.newPage(/409 \(Conflict\)/, context)), await browser.newPage(undefined, context)];
    await bob.goto(`${site.origin}/game?name=Bob`);
    await press(ada, '#hat');
    await shows(ada, '#said', 'You have only 0');
    await earn(ada, 3);
    await shows(ada, '#coins', '15');
    await press(ada, '#hat');
    await shows(ada, '#said', 'A fine hat');
    await shows(ada, '#coins', '5');
    // Bob is another player, although both use the same localStorage.
    expect(await bob.textContent('#coins')).toBe('0');

    await press(ada, '#host');
    await shows(ada, '#state', 'live');
    await shows(ada, '#room', /^[A-Z]{5}$/);
    await bob.fill('#code', (await ada.textContent('#room'))!);
    await press(bob, '#join');
    for (const page of [ada, bob]) await shows(page, '#players', /^Ada, Bob$/);
    for (let times = 0; times < 2; times++) await press(ada, '#press');
    await shows(bob, '#presses', '2');
    await press(ada, '#submit');
    await shows(ada, '#board li', 'Ada: 2');
  });

  extra('a player of a web game signs another screen in on a page of the game, which claims as that player', async () => {
    const context = await browser.newContext();
    const [game, screen] = [await openGame(await browser.newPage(undefined, context)), await browser.newPage()];
    await earn(game, 2);
    await shows(game, '#coins', '10');
    await screen.goto(`${site.origin}/pair`);
    await shows(screen, '#status', 'pending');
    await expect.poll(() => screen.evaluate(`document.getElementById('qr').naturalWidth`)).toBeGreaterThan(100);
    const link = (await screen.getAttribute('#url', 'href'))!;
    // A person pastes the link, or an APP_LINK of the game brings the token.
    await game.goto(`${site.origin}/claim`);
    await game.fill('#link', link);
    await press(game, '#look');
    await shows(game, '#said', `This sign-in is scanned: match code ${await screen.textContent('#match')}`);
    await game.goto(`${site.origin}/claim?token=${new URL(link).searchParams.get('token')}`);
    await press(game, '#look');
    await game.locator('#ask').waitFor();
    await game.fill('#name', 'Ada');
    await press(game, '#yes');
    await shows(game, '#said', 'This sign-in is claimed');
    await shows(screen, '#by', 'Ada');
    await screen.reload();
    await shows(screen, '#account', 'Signed in. Coins: 10');
    // The person at the screen does not know that name.
    await press(screen, '#leave');
    await shows(screen, '#account', 'Not signed in');
  });

  journey('a credit whose service is killed and whose page is closed is there once after both start again', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'coinop-browser-'));
    let main = await startMain(dataDir, ownPort);
    const context = await browser.newContext();
    const page = await browser.newPage(FAILED, context);
    await page.goto(`${site.origin}/own?name=Ada`);
    await shows(page, '#coins', /^0$/);
    // The service applies the credit and dies before the page has the answer.
    const killed = new Promise<void>((resolve, reject) => {
      const handler: Parameters<Page['route']>[1] = async (route) => {
        const { ok } = (await (await route.fetch()).json()) as { ok: boolean };
        if (!ok) reject(new Error('the credit was refused'));
        await main.kill();
        await route.abort();
        resolve();
      };
      void page.route('**/v1/coins/credit', handler, { times: 1 });
    });
    await earn(page);
    await killed;
    expect(await stored(page)).toBe(1);
    await page.close();

    main = await startMain(dataDir, ownPort);
    const next = await browser.newPage(FAILED, context);
    await next.goto(`${site.origin}/own?name=Ada`);
    await shows(next, '#coins', /^5$/);
    await expect.poll(() => stored(next)).toBe(0);
    await next.reload();
    await shows(next, '#coins', /^5$/);
    await main.kill();
    rmSync(dataDir, { recursive: true, force: true });
  });

  extra('two tabs of one player finish the operations that were made offline, each once', async () => {
    const context = await browser.newContext();
    const pages = [await openGame(await browser.newPage(FAILED, context)), await openGame(await browser.newPage(FAILED, context))];
    const keys: string[] = [];
    await context.route(
      '**/v1/coins/credit',
      (route) => (keys.push((route.request().postDataJSON() as { key: string }).key), route.continue()),
    );
    await context.setOffline(true);
    for (const page of pages) await earn(page, 3);
    await expect.poll(() => stored(pages[0]!)).toBe(6);
    await context.setOffline(false);
    await expect.poll(() => stored(pages[0]!)).toBe(0);
    // A tab shows the balance after its own operations, which need not be the last ones.
    for (const page of pages) await openGame(page, 30);
    expect(new Set(keys).size).toBe(6);
  });

  extra('a tab that nobody touches finishes the credit of a tab that was closed', async () => {
    const context = await browser.newContext();
    const [closing, idle] = [await browser.newPage(FAILED, context), await browser.newPage(undefined, context)];
    // Only this tab is cut off. The other one hears of nothing but the store.
    await closing.route('**/v1/coins/credit', (route) => route.abort());
    for (const page of [idle, closing]) await openGame(page);
    await earn(closing);
    await expect.poll(() => stored(idle)).toBe(1);
    await closing.close();
    await shows(idle, '#coins', /^5$/);
    expect(await stored(idle)).toBe(0);
  });

  extra.each([
    `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('forbidden', 'SecurityError'); } })`,
    `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }`,
  ])('a forbidden or full localStorage stops nothing', async (script) => {
    const page = await browser.newPage(/data in memory/);
    await page.addInitScript(script);
    await openGame(page);
    await earn(page);
    await shows(page, '#coins', /^5$/);
  });

  journey('a tab that was offline, and one that slept on a dead connection, show the room of now', async () => {
    const host = freshId();
    const { code } = (await service.post('/v1/rooms', { installId: host, name: 'Ada' })).body.room;
    const setPresses = (presses: number) => service.post(`/v1/rooms/${code}/state`, { installId: host, state: { presses } });
    const context = await browser.newContext();
    const page = await browser.newPage(FAILED, context);
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
    await shows(page, '#state', 'live');

    await context.setOffline(true);
    await sockets[0]!.close({ code: 1001 });
    await shows(page, '#state', /waiting|connecting/);
    await setPresses(3);
    await context.setOffline(false);
    await shows(page, '#presses', /^3$/);
    await shows(page, '#state', 'live');

    // The connection died while the device slept: no close comes, and no message.
    dead = sockets.length;
    await setPresses(4);
    const session = await context.newCDPSession(page);
    await session.send('Page.setWebLifecycleState', { state: 'frozen' });
    await setPresses(5);
    await session.send('Page.setWebLifecycleState', { state: 'active' });
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await shows(page, '#presses', /^5$/);
    // The client leaves the dead connection for a new one.
    await expect.poll(() => sockets.length).toBeGreaterThan(dead);
    await shows(page, '#state', 'live');
    await setPresses(6);
    await shows(page, '#presses', /^6$/);
  });
});
