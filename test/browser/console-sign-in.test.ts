import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Page } from 'playwright-core';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { consoleSignIn } from '../operator/sign-in/person.ts';
import { Provider } from '../operator/sign-in/provider.ts';
import { extra, noBrowser } from './chromium.ts';
import { axeProblems, FAILED, inBrowser, keepPicture, shows } from './page-checks.ts';

/** Two people who sign in to the console at a provider, in two browsers. */
describe.skipIf(noBrowser)('the console with CONSOLE_SIGN_IN', () => {
  const browser = inBrowser();
  let service: TestService;
  let provider: Provider;
  beforeAll(async () => {
    provider = await Provider.start();
    const settings = { ADMIN_API: 'on', CONSOLE_SIGN_IN: consoleSignIn(provider), TWO_PERSON_COINS: '1000' };
    service = await start({ settings });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
  });

  const press = (page: Page, name: string | RegExp, within = 'body'): Promise<void> =>
    page.locator(within).getByRole('button', { name }).first().click();

  async function signedIn(sub: string, ...groups: string[]): Promise<Page> {
    provider.person(sub, ...groups);
    const page = await browser.newPage(FAILED);
    await page.goto(`${service.url}/console`);
    await press(page, 'Sign in at acme');
    return page;
  }

  extra('people sign in at the provider, and one of them says yes to what the other asks', async () => {
    const stranger = await signedIn('mallory', 'others');
    await shows(stranger, '.said', 'no group that has a role here');
    expect(stranger.url()).toBe(`${service.url}/console#/`);
    expect(await axeProblems(stranger)).toEqual([]);
    const ada = await signedIn('ada', 'economists');
    await ada.locator('[role=search]').waitFor();
    await shows(ada, 'bdi', 'ada of Acme');
    const installId = freshId();
    const accountId = accountIdOf(installId);
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'welcome' });
    await ada.goto(`${service.url}/console#/accounts/${accountId}`);
    await press(ada, 'Correct the balance');
    for (const [name, value] of Object.entries({ ticket: 'ticket-1', reason: 'lost', coins: '1001' }))
      await ada.fill(`dialog [name=${name}]`, value);
    await press(ada, 'What will happen?', 'dialog');
    await shows(ada, 'dialog .question', /^Ask another person for the yes/);
    await shows(ada, 'dialog .hint', 'TWO_PERSON_COINS');
    await keepPicture(ada, 'console-second-person');
    await ada.fill('dialog [name=typed]', '1001');
    await press(ada, /^Ask for a second person/, 'dialog');
    await shows(ada, 'dialog', 'The log has it');
    await press(ada, 'Close', 'dialog');
    const ben = await signedIn('ben', 'admins');
    await ben.locator('[role=search]').waitFor();
    await ben.goto(`${service.url}/console#/requests`);
    await shows(ben, 'tr', /1,001.*lost/);
    expect(await axeProblems(ben)).toEqual([]);
    await press(ben, /^Say yes/);
    await ben.fill('dialog [name=ticket]', 'ticket-1');
    await ben.fill('dialog [name=reason]', 'asked the player');
    await press(ben, 'What will happen?', 'dialog');
    await shows(ben, 'dialog .question', /^Say yes to what ada of Acme asked for/);
    await ben.fill('dialog [name=typed]', '1001');
    const opened = ben.context().waitForEvent('page');
    await press(ben, 'Prove at acme that it is you', 'dialog');
    const tab = await opened;
    await shows(tab, 'h1', 'It is you');
    await tab.close();
    await press(ben, 'Say yes', 'dialog');
    await shows(ben, 'dialog', 'The log has it');
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(1006);
    await ada.goto(`${service.url}/console#/requests`);
    await shows(ada, 'tr', /approved.*ben of Acme/);
    await press(ada, 'Sign out');
    await shows(ada, 'h1', 'Sign in');
  });
});
