import { describe, expect, test } from 'vitest';
import { api } from '../../api.ts';
import { forFile, start } from '../../harness.ts';

const service = await forFile(start());

describe('GET /', () => {
  test('links to the page of each feature, to the list of all calls, to documents and to probes, which answer 200', async () => {
    const { status, headers, body } = await service.get('/');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body).toMatch(/^<!doctype html>\s+<html lang="en">/);
    const listed = (await service.get('/docs')).body as string;
    for (const { path } of api.filter(({ path }) => !path.startsWith('/sandbox'))) expect(listed.replaceAll('<wbr />', '')).toContain(path);
    const { tags } = (await service.get('/openapi.json')).body as { tags: { name: string }[] };
    for (const { name } of tags) expect(body).toContain(`href="/docs/reference/${name}"`);
    for (const link of ['/docs', '/docs/channels', '/openapi.json', '/asyncapi.json', '/?format=json', '/health', '/ready', '/metrics']) {
      expect(body).toContain(`href="${link}"`);
      expect((await service.get(link)).status).toBe(200);
    }
  });

  test('its content security policy allows only its own files, calls and channels, and it has nothing inline', async () => {
    const { headers, body } = await service.get('/');
    const host = `127.0.0.1:${service.port}`;
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws://${host} wss://${host}; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(body).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! type="module" src="\/pages\/modules\/(home|playground)\.js"><\/script>)/);
    // The page loads only addresses of the service.
    for (const [, address] of body.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toMatch(/^(\/(?!\/)|#|data:image\/svg)/);
  });

  test('with PLAYGROUND=off, as in production, has no playground and loads no module of a playground', async () => {
    const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://play.example', SESSION_KEYS: `k1:${'A'.repeat(43)}`, STORE: 'off' };
    for (const [settings, isOn] of [
      [production, false],
      [{ PLAYGROUND: 'off' }, false],
      [{ ...production, PLAYGROUND: 'on' }, true],
    ] as const) {
      await using other = await start({ settings });
      const { status, body } = await other.get('/');
      expect([status, body.includes('id="playground"'), body.includes('/modules/coins.js')]).toEqual([200, isOn, isOn]);
    }
  });

  test('preloads every module that it loads', async () => {
    const { body } = await service.get('/');
    const preloaded = [...body.matchAll(/modulepreload" href="\/pages\/modules\/([\w-]+\.js)"/g)].map(([, name]) => name!);
    const loaded = new Set<string>();
    const load = async (name: string): Promise<void> => {
      if (loaded.has(name)) return;
      loaded.add(name);
      const { body: source } = await service.get(`/pages/modules/${name}`);
      for (const [, next] of source.matchAll(/(?:from |import\()'\.\/([\w-]+\.js)'/g)) await load(next);
    };
    const run = [...body.matchAll(/<script type="module" src="\/pages\/modules\/([\w-]+\.js)"/g)].map(([, name]) => name!);
    for (const name of run) await load(name);
    expect([...run, ...preloaded].toSorted()).toEqual([...loaded].toSorted());
  });

  test.each([
    ['application/json', true],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
    ['text/html, application/json', false],
    ['', false],
    ['application/json, text/html;q=0', true],
    ['application/json;q=0, */*', false],
    ['Application/JSON', true],
  ])('a client that accepts "%s" gets JSON: %s', async (accept, isJson) => {
    const response = await fetch(service.url, { headers: { accept } });
    expect(response.headers.get('content-type')).toBe(isJson ? 'application/json' : 'text/html; charset=utf-8');
    expect(response.headers.get('vary')).toContain('Accept');
    expect((await response.text()).startsWith(isJson ? '{"ok":true,"service":"coinop"' : '<!doctype html>')).toBe(true);
  });

  test.each(['html', 'JSON', '', 'json%00'])('refuses the format "%s"', async (format) => {
    const { status, body } = await service.get(`/?format=${format}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'format']);
  });
});
