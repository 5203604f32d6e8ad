import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { complaints, example, extra, launch, noBrowser, press, servePages } from './chromium.ts';

describe.skipIf(noBrowser)('a browser', { timeout: 60_000 }, () => {
  let browser: Browser;
  let service: TestService;
  let site: Awaited<ReturnType<typeof servePages>>;
  beforeAll(async () => {
    browser = await launch();
    site = await servePages(() => ({
      '/game': example('game.html', service.url),
      '/pair': example('pair.html', service.url),
      '/claim': example('claim.html', service.url),
    }));
    service = await start({ settings: { ALLOWED_ORIGINS: site.origin } });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
    await site?.[Symbol.asyncDispose]();
  });

  test('two players of one browser play the game of another origin', async () => {
    const context = await browser.newContext();
    const [ada, bob] = [await context.newPage(), await context.newPage()];
    const lines = [complaints(ada), complaints(bob)];
    await ada.goto(`${site.origin}/game?name=Ada`);
    await bob.goto(`${site.origin}/game?name=Bob`);
    await ada.locator('#coins', { hasText: '0' }).waitFor();
    await press(ada, '#hat');
    await ada.locator('#said', { hasText: 'You have only 0' }).waitFor();
    for (let times = 0; times < 3; times++) await press(ada, '#earn');
    await ada.locator('#coins', { hasText: '15' }).waitFor();
    await press(ada, '#hat');
    await ada.locator('#said', { hasText: 'A fine hat' }).waitFor();
    await ada.locator('#coins', { hasText: '5' }).waitFor();
    // Bob is another player, although both use the same localStorage.
    expect(await bob.textContent('#coins')).toBe('0');

    await press(ada, '#host');
    await ada.locator('#state', { hasText: 'live' }).waitFor();
    await ada.locator('#room', { hasText: /^[A-Z]{5}$/ }).waitFor();
    await bob.fill('#code', (await ada.textContent('#room'))!);
    await press(bob, '#join');
    for (const page of [ada, bob]) await page.locator('#players', { hasText: /^Ada, Bob$/ }).waitFor();
    await press(ada, '#press');
    await press(ada, '#press');
    await bob.locator('#presses', { hasText: '2' }).waitFor();
    await press(ada, '#submit');
    await ada.locator('#board li', { hasText: 'Ada: 2' }).first().waitFor();
    // Chromium logs a refused request as an error of the network.
    expect(lines.flat().filter((line) => !line.includes('409 (Conflict)'))).toEqual([]);
    await context.close();
  });

  extra('a page signs in with a phone', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const lines = complaints(page);
    await page.goto(`${site.origin}/pair`);
    await page.locator('#status', { hasText: 'pending' }).waitFor();
    const token = new URL((await page.getAttribute('#url', 'href'))!).searchParams.get('token');
    await expect.poll(() => page.evaluate(`document.getElementById('qr').naturalWidth`)).toBeGreaterThan(100);
    const phone = freshId();
    await service.post('/v1/coins/credit', { installId: phone, coins: 40, key: 'welcome' });
    await service.post('/v1/pair/claim', { installId: phone, token, step: 'scan' });
    await page.locator('#status', { hasText: 'scanned' }).waitFor();
    await service.post('/v1/pair/claim', { installId: phone, token });
    await page.locator('#account', { hasText: 'Signed in, with 40 coins' }).waitFor();
    await page.locator('#by', { hasText: 'Somebody' }).waitFor();
    await page.reload();
    await page.locator('#account', { hasText: 'Signed in, with 40 coins' }).waitFor();
    expect(lines).toEqual([]);
    await context.close();
  });

  extra('a player of a web game signs another screen in on a page of the game, which claims as that player', async () => {
    const [context, tv] = [await browser.newContext(), await browser.newContext()];
    const [game, screen] = [await context.newPage(), await tv.newPage()];
    const lines = [complaints(game), complaints(screen)];
    await game.goto(`${site.origin}/game?name=Ada`);
    await game.locator('#coins', { hasText: '0' }).waitFor();
    for (let times = 0; times < 2; times++) await press(game, '#earn');
    await game.locator('#coins', { hasText: '10' }).waitFor();
    await screen.goto(`${site.origin}/pair`);
    await screen.locator('#status', { hasText: 'pending' }).waitFor();
    const link = (await screen.getAttribute('#url', 'href'))!;
    // A person pastes the link, or an APP_LINK of the game brings the token.
    await game.goto(`${site.origin}/claim`);
    await game.fill('#link', link);
    await press(game, '#look');
    await game.locator('#said', { hasText: `This sign-in is scanned: match code ${await screen.textContent('#match')}` }).waitFor();
    await game.goto(`${site.origin}/claim?token=${new URL(link).searchParams.get('token')}`);
    await press(game, '#look');
    await game.locator('#ask').waitFor();
    await game.fill('#name', 'Ada');
    await press(game, '#yes');
    await game.locator('#said', { hasText: 'This sign-in is claimed' }).waitFor();
    await screen.locator('#by', { hasText: 'Ada' }).waitFor();
    await screen.locator('#account', { hasText: 'Signed in, with 10 coins' }).waitFor();
    // The person at the screen does not know that name.
    await press(screen, '#leave');
    await screen.locator('#account', { hasText: 'Not signed in' }).waitFor();
    expect(lines.flat()).toEqual([]);
    await context.close();
    await tv.close();
  });
});
