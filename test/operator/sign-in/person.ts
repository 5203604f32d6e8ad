import { expect } from 'vitest';
import type { TestReply, TestService } from '../../harness.ts';
import { CLIENT_ID, CLIENT_SECRET, type Provider } from './provider.ts';

/** The setting CONSOLE_SIGN_IN for a provider of a test. */
export const consoleSignIn = (provider: Provider, more: object = {}): string =>
  JSON.stringify([
    {
      ...{ name: 'acme', issuer: provider.url, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
      groups: { readers: 'viewer', helpers: 'support', economists: 'economist', admins: 'admin' },
      ...more,
    },
  ]);

/** A browser with its cookies, in which a person uses the page of the console. */
export class Browser {
  readonly service: TestService;
  readonly provider: Provider;
  readonly cookies = new Map<string, string>();

  constructor(service: TestService, provider: Provider) {
    this.service = service;
    this.provider = provider;
  }

  get #cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep(reply: TestReply): TestReply {
    for (const cookie of reply.setCookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return reply;
  }

  async get(path: string): Promise<TestReply> {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-console': 'look' };
    return this.#keep(await this.service.get(path, { cookies: this.#cookieHeader, headers }));
  }

  async post(path: string, body: object, says = 'look'): Promise<TestReply> {
    const headers = { origin: this.service.url, 'sec-fetch-site': 'same-origin', 'x-console': says };
    return this.#keep(await this.service.post(path, body, { cookies: this.#cookieHeader, headers }));
  }

  /** Opens an address of the service as a navigation from the provider. SameSite=Strict keeps the cookie of the session back. */
  async navigate(address: string): Promise<TestReply> {
    const cookies = [...this.cookies].filter(([name]) => name.endsWith('_flow')).map(([name, value]) => `${name}=${value}`);
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    return this.#keep(await this.service.get(address.replace(this.service.url, ''), { cookies: cookies.join('; '), headers }));
  }

  /** Begins a sign-in, and goes to the provider. @returns the address to which the provider sends the browser back */
  async atProvider(more: object = {}): Promise<string> {
    const begun = await this.post('/console/sign-in', { provider: 'acme', ...more });
    expect([begun.status, begun.body.error]).toEqual([200, undefined]);
    return this.provider.visit(begun.body.address);
  }

  /** Signs the current person of the provider in. @returns where the service sends the browser: `/console` with a session */
  async signIn(more: object = {}): Promise<string> {
    const reply = await this.navigate(await this.atProvider(more));
    expect(reply.status).toBe(303);
    return reply.headers.get('location')!;
  }

  /** Makes a change as the page does: asks, confirms the question, and sends the change. */
  async change(operation: string, path: string, input: object): Promise<TestReply> {
    const asked = await this.post('/console/ask', { operation, input });
    if (asked.status !== 200) return asked;
    return this.post(path, input, asked.body.seen);
  }
}

/** A browser in which a person with these groups is signed in. */
export async function signedIn(service: TestService, provider: Provider, sub: string, ...groups: string[]): Promise<Browser> {
  const browser = new Browser(service, provider);
  provider.person(sub, ...groups);
  expect(await browser.signIn()).toBe('/console');
  return browser;
}
