import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../harness.ts';
import { extra, isWhole, looks, noBrowser } from './chromium.ts';
import { axeProblems, FAILED, fits, inBrowser, keepPicture, layoutShift } from './page-checks.ts';

/** Pages of each kind, with a name for the picture. All pages of a kind are made alike. */
const PAGES = [
  ['/docs', 'start'],
  ['/docs/reference/coins', 'coins'],
  ['/docs/client', 'client'],
  ['/docs/operating', 'operating'],
  ['/docs/channels', 'channels'],
  ['/docs/errors', 'errors'],
] as const;

const DESKTOP = { viewport: { width: 1280, height: 900 } };

describe.skipIf(noBrowser)('the documentation in a browser', () => {
  const browser = inBrowser();
  let service: TestService;
  beforeAll(async () => void (service = await start({ settings: { STORE: 'sandbox' } })));
  afterAll(() => service?.[Symbol.asyncDispose]());
  const open = (path: string, options = {}, expected = FAILED) => browser.open(service.url + path, expected, options);

  // Each page takes seconds.
  describe.each(isWhole ? PAGES : PAGES.slice(1, 3))('%s', (path, name) => {
    test.each(looks)('is whole and readable: %i px, %s', async (width, colorScheme) => {
      const page = await open(path, { colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } });
      await page.locator('h1').waitFor();
      expect(await fits(page)).toBe(true);
      await keepPicture(page, `docs-${name}-${colorScheme}-${width}`);
      expect(await axeProblems(page)).toEqual([]);
    });
  });

  extra('the pages do not shift while they load, and fit widths from 320 to 1600 px', async () => {
    for (const width of [320, 700, 1000, 1600]) {
      for (const [path] of PAGES) {
        const page = await open(path, { viewport: { width, height: 900 } });
        // The browser reports layout shifts to the observer in a separate task. After the second frame all of them have been reported.
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))');
        expect([path, width, await fits(page), await layoutShift(page)]).toEqual([path, width, true, 0]);
      }
    }
  });

  extra('the search finds an endpoint by words of its path, text, fields or errors, with the keyboard alone', async () => {
    const page = await open('/docs', DESKTOP);
    const hits = page.locator('#results a');
    const first = (): Promise<string | null> => hits.first().getAttribute('href');
    await page.keyboard.press('/');
    await page.keyboard.type('/COINS/debit key');
    await page.locator('#found', { hasText: /\d+ found/ }).waitFor();
    await expect.poll(first).toBe('/docs/reference/coins#debitCoins');
    expect(await page.locator('#docs-pages').isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/reference/coins#debitCoins');
    expect(await page.locator('#debitCoins h2').isVisible()).toBe(true);
    await page.locator('#contents a[href="#debitCoins"][aria-current="location"]').waitFor();

    // A guide, an error code and a setting are found from here too.
    for (const [words, href] of [
      ['debts', '/docs/guarantees#debts'],
      ['key_reused', '/docs/errors#key_reused'],
      ['REDIS_WAIT_REPLICAS settings', '/docs/operating#settings'],
    ]) {
      await page.fill('#search', words!);
      await expect.poll(() => hits.evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toContain(href);
    }
    await page.fill('#search', 'nonce');
    await page.locator('#results li:nth-child(3)').waitFor();
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.closest("#results li:nth-child(3)") !== null')).toBe(true);

    await page.fill('#search', '<b>no such thing');
    await page.locator('#found', { hasText: 'Nothing has all these words.' }).waitFor();
    expect(await hits.count()).toBe(0);
    await page.fill('#search', '');
    await page.locator('#docs-pages').waitFor();
  });

  extra('a phone opens the contents over the page, and a link closes them', async () => {
    const page = await open('/docs/reference/entitlement', { viewport: { width: 390, height: 844 } });
    expect(await page.locator('#search').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Contents' }).click();
    await page.fill('#search', 'jwks');
    await page.locator('#results a').first().waitFor();
    await keepPicture(page, 'docs-search-390');
    expect(await axeProblems(page, '.top', '.contents')).toEqual([]);
    await page.fill('#search', '');
    await keepPicture(page, 'docs-contents-390');
    expect(await axeProblems(page, '.top', '.contents')).toEqual([]);
    await page.locator('#contents a[href="#getProofKeys"]').click();
    expect(await page.locator('#search').isVisible()).toBe(false);
    expect(await page.locator('#getProofKeys h2').isVisible()).toBe(true);
  });

  test('"Try it" sends requests and shows the answers, the same as curl, and what to do about an error', async () => {
    const page = await open('/docs/reference/service', DESKTOP);
    const openTag = (tag: string) => page.goto(`${service.url}/docs/reference/${tag}`);
    const tried = async (id: string, fill: () => Promise<void> = async () => {}): Promise<string> => {
      const section = page.locator(`#${id}`);
      if ((await section.locator('.try').getAttribute('open')) === null) await section.locator('.try > summary').press('Enter');
      await fill();
      await section.getByRole('button', { name: /^Send/ }).press('Enter');
      await section.locator('.answer:not([aria-busy]) .status').waitFor();
      return section.locator('.answer').innerText();
    };

    expect(await tried('getHealth')).toContain('200 OK');
    expect(await tried('getMetrics')).toContain('# HELP');
    await openTag('coins');
    const credited = await tried('creditCoins');
    expect(credited).toContain('"balanceAfterCoins": 10');
    expect(credited).toMatch(/curl -s -X POST 'http:\/\/127\.0\.0\.1:\d+\/v1\/coins\/credit'/);
    // The same installId, in another form.
    expect(await tried('getBalance')).toContain('"balanceCoins": 10');
    await keepPicture(page, 'docs-try-1280');

    const refused = await tried('debitCoins', () => page.fill('#debitCoins-body', '{"coins": 999, "key": "<b>too</b> much\'"}'));
    expect(refused).toContain('409');
    expect(refused).toContain('"insufficient_coins"');
    expect(refused).toContain(`<b>too</b> much'\\''`);
    expect(await page.locator('#debitCoins .answer a').getAttribute('href')).toBe('/docs/errors#insufficient_coins');
    expect(await axeProblems(page, '#creditCoins', '#debitCoins')).toEqual([]);

    // A hostile path parameter stays one segment.
    await openTag('rooms');
    expect(await tried('getRoom', () => page.fill('#getRoom-code', '../../health?x=#'))).toContain('"room_not_found"');
    await openTag('sandbox');
    expect(await tried('sandboxIssue')).toContain('200 OK');
  });

  extra('"Try it" explains a body that is not JSON, and a service that is away', async () => {
    const page = await open('/docs/reference/sandbox#sandboxIssue');
    await page.locator('#sandboxIssue .try > summary').click();
    const body = await page.inputValue('#sandboxIssue-body');
    await page.fill('#sandboxIssue-body', '{');
    await page.locator('#sandboxIssue button.primary').click();
    await page.locator('#sandboxIssue .answer a[href="/docs/errors#invalid_json"]').waitFor();
    await page.fill('#sandboxIssue-body', body);
    await page.context().setOffline(true);
    await page.locator('#sandboxIssue button.primary').click();
    await page.locator('#sandboxIssue .status', { hasText: 'did not answer' }).waitFor();
    await page.context().setOffline(false);
    await page.locator('#sandboxIssue button.primary').click();
    await page.locator('#sandboxIssue .status', { hasText: '200 OK' }).waitFor();
  });

  extra('the pages can be read without JavaScript', async () => {
    const page = await open('/docs/reference/coins', { ...DESKTOP, javaScriptEnabled: false });
    expect(await page.locator('#creditCoins h2').isVisible()).toBe(true);
    expect(await page.locator('#docs-pages a[href="/docs/client"]').isVisible()).toBe(true);
    for (const hidden of ['#search', '#creditCoins .try', '#creditCoins .copy'])
      expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
  });
});
