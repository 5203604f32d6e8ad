import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { api, channels } from '../../../src/api.ts';
import { asyncapiDocument } from '../../../src/web/documents/asyncapi.ts';
import { openapiDocument, type Features } from '../../../src/web/documents/openapi.ts';
import { errorSchemas } from '../../../src/web/documents/refusals.ts';
import { Schemas } from '../../../src/web/documents/schemas.ts';
import { channelsPage } from '../../../src/web/reference/channels-page.ts';
import { errorGivers } from '../../../src/web/reference/error-givers.ts';
import { errorsPage } from '../../../src/web/reference/errors-page.ts';
import { referencePage, type OpenapiParts } from '../../../src/web/reference/reference-page.ts';
import { errors, type ErrorCode } from '../../../src/errors.ts';
import { declaredErrors } from '../../../src/server/http/endpoint.ts';
import { channelErrors } from '../../../src/server/live/channel.ts';
import { forFile, sleep, start } from '../../harness.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

const PAGES = ['/docs', '/docs/channels', '/docs/errors'];
const codes = Object.keys(errors) as ErrorCode[];

/** The HTML without the blanks between tags. */
const dense = (page: string): string => page.replace(/\s+</g, '<').replace(/>\s+/g, '>');
const pageAt = async (path: string): Promise<string> => dense((await service.get(path)).body as string);
const idsOf = (page: string): string[] => Array.from(page.matchAll(/\sid="([^"]*)"/g), ([, id]) => id!);
/** A text as it is in the page: without the marks of code, and escaped. */
const written = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

test('the first request for a page waits until the page is made, even longer than a request may wait for Redis', async () => {
  // No other test requests the pages of these settings, so they are not made yet.
  await using slow = await start({ settings: { STORE: 'sandbox', ADMIN_API: 'on', PLAYGROUND: 'off' } });
  const reply = slow.get('/docs');
  // Time for the request to arrive. The thread that makes the pages takes longer to start.
  await sleep(20);
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 2500);
  expect((await reply).status).toBe(200);
  clock.mockRestore();
});

describe.each(PAGES)('GET %s', (path) => {
  test('answers with an English HTML document under a strict policy', async () => {
    const { status, headers, body } = await service.get(path);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(dense(body)).toMatch(/^<!doctype html><html lang="en">/);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('has nothing inline and links to no other host', async () => {
    const page = await pageAt(path);
    expect(page).not.toMatch(/<style|<script(?! type="module" src="\/pages\/modules\/docs\.js"><\/script>)|\sstyle=|\son\w+=/);
    expect(Array.from(page.matchAll(/\s(?:href|src|action)="(?!\/|#|data:image)([^"]*)"/g), ([, url]) => url)).toEqual([]);
  });

  test('is sent gzipped, and is not sent again while it is unchanged', async () => {
    const { headers } = await service.get(path, { headers: { 'accept-encoding': 'gzip' } });
    expect([headers.get('content-encoding'), headers.get('cache-control')]).toEqual(['gzip', 'public, max-age=60']);
    expect(headers.get('vary')).toContain('Accept-Encoding');
    expect(Number(headers.get('content-length'))).toBeLessThan(55_000);
    const again = await service.get(path, { headers: { 'if-none-match': headers.get('etag')! } });
    expect([again.status, again.body]).toEqual([304, '']);
    const plain = await service.get(path, { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect([plain.headers.get('content-encoding'), plain.headers.get('etag')]).toEqual([null, headers.get('etag')!.replace('-gzip', '')]);
  });

  test('has every id once, and every link leads to an id', async () => {
    const ids = new Map(await Promise.all(PAGES.map(async (page) => [page, idsOf(await pageAt(page))] as const)));
    expect(ids.get(path)!.length).toBe(new Set(ids.get(path)).size);
    const links = Array.from((await pageAt(path)).matchAll(/href="([^"#]*)#([^"]+)"/g), ([, page, id]) => [page || path, id!] as const);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter(([page, id]) => !ids.get(page)!.includes(id))).toEqual([]);
  });

  test('answers HEAD without a body', async () => {
    const { status, body } = await service.get(path, { method: 'HEAD' });
    expect([status, body]).toEqual([200, '']);
  });
});

test.each([
  ['/docs/style.css', 'text/css; charset=utf-8'],
  ['/pages/modules/docs.js', 'text/javascript; charset=utf-8'],
])('GET %s is one file that loads nothing else, and caches ask whether it changed', async (path, type) => {
  const { headers, body } = await service.get(path);
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([type, 'no-cache']);
  expect(body.length).toBeGreaterThan(2000);
  expect(body).not.toMatch(/\bimport\b|\burl\(|https?:\/\//);
  const again = await service.get(path, { headers: { 'if-none-match': headers.get('etag')! } });
  expect([again.status, again.body]).toEqual([304, '']);
});

test('the pages below /docs have the icon of the page at /', async () => {
  const icons = await Promise.all(
    ['/', ...PAGES].map(async (path) => /<link rel="icon" href="[^"]+"/.exec((await service.get(path)).body)![0]),
  );
  expect(new Set(icons).size).toBe(1);
});

test.each(['/docs/', '/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/style.css/..', '/docs/script.ts'])(
  'there is nothing at %s',
  async (path) => {
    // fetch resolves dots in a path: only the encoded ones arrive.
    expect((await service.get(path)).status).toBe(404);
  },
);

describe('the reference', () => {
  test('has a section with a form for every operation of the OpenAPI document', async () => {
    const page = await pageAt('/docs');
    const { paths } = (await service.get('/openapi.json')).body as { paths: Record<string, Record<string, { operationId: string }>> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({
        operationId,
        form: `data-method="${method.toUpperCase()}" data-path="${path}"`,
      })),
    );
    expect(operations.length).toBeGreaterThan(50);
    for (const { operationId, form } of operations) {
      expect(page).toContain(`<article class="operation" id="${operationId}"`);
      expect(page).toContain(form);
    }
  });

  test('shows the fields of a body with their types, bounds and meaning', async () => {
    const page = await pageAt('/docs');
    const credit = /id="creditCoins".*?<\/article>/s.exec(page)![0];
    expect(credit).toContain(
      '<code>coins</code><span class="type">whole number, 1 to 1,000,000</span><span class="required">required</span></p><p>Whole coins, 1 to 1,000,000.</p>',
    );
    expect(credit).toContain('<a href="/docs/errors#key_reused"><code>key_reused</code></a>');
    // The form sends the installId as a header, so its body has none.
    const body = /<textarea[^>]*>(.*?)<\/textarea>/s.exec(credit)![1]!;
    expect(JSON.parse(body.replaceAll('&#34;', '"'))).toEqual({ coins: 10, key: 'level-7' });
  });

  test('has the endpoints of the sandbox only with STORE=sandbox', async () => {
    await using production = await start({ settings: { STORE: 'off' } });
    expect(await pageAt('/docs')).toContain('id="sandboxIssue"');
    // An example of the store still names the sandbox.
    expect((await production.get('/docs')).body).not.toContain('data-path="/sandbox/');
    expect((await production.get('/docs/errors')).body).not.toContain('<code>/sandbox/');
  });
});

describe('the channels', () => {
  test('have a section for each channel and each message, and their close codes', async () => {
    const page = await pageAt('/docs/channels');
    const ids = idsOf(page);
    expect(ids).toEqual(
      expect.arrayContaining([
        'roomsByCodeLive',
        'roomsByCodeLive-room',
        'roomsByCodeLive-hello',
        'pairLive',
        'pairLive-pair',
        'pairLive-error',
      ]),
    );
    expect(/id="roomsByCodeLive-hello".*?<\/article>/s.exec(page)![0]).toContain('Sent by the client.');
    expect(/id="roomsByCodeLive-welcome".*?<\/article>/s.exec(page)![0]).toContain('Sent by the service.');
    for (const code of [1001, 1009, 4008, 4009, 4400, 4429, 4500, 4501]) expect(page).toContain(`<code>${code}</code>`);
  });
});

describe('the error codes', () => {
  const rowOf = (page: string, code: string): string => new RegExp(`<tr id="${code}".*?</tr>`, 's').exec(page)![0];

  test('each have advice: whole sentences that say more than the message', () => {
    for (const code of codes) {
      const { message, advice } = errors[code];
      expect([code, advice]).toEqual([code, expect.stringMatching(/^[A-Z][^]{20,}\.$/)]);
      expect(advice).not.toBe(message);
    }
    expect(new Set(codes.map((code) => errors[code].advice)).size).toBe(codes.length);
  });

  test('each have a row with meaning and advice, under their status', async () => {
    const page = (await service.get('/docs/errors')).body as string;
    for (const code of codes) {
      const { status, message, advice } = errors[code];
      const row = rowOf(page, code);
      expect(row).toContain(written(message));
      const text = row.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
      expect(text).toContain(written(advice.replaceAll('`', '')));
      expect(page.slice(0, page.indexOf(row)).lastIndexOf(`id="status-${status}"`)).toBeGreaterThan(0);
    }
  });

  test('name every endpoint and channel that declares them', async () => {
    const page = await pageAt('/docs/errors');
    for (const code of codes) {
      const expected = [
        ...api.filter((endpoint) => declaredErrors(endpoint).includes(code)).map(({ path }) => path),
        ...channels.filter((channel) => channelErrors(channel).includes(code)).map(({ path }) => path),
      ];
      const named = Array.from(rowOf(page, code).matchAll(/<\/b><code>([^<]*)<\/code><\/a><\/li>/g), ([, path]) => path!);
      expect([code, named.toSorted()]).toEqual([code, expected.toSorted()]);
    }
  });

  test('that no endpoint declares name their other source', async () => {
    const page = await pageAt('/docs/errors');
    expect(rowOf(page, 'not_found')).toContain('Every path that the service does not have.');
    expect(rowOf(page, 'method_not_allowed')).toContain('Every path.');
    for (const code of codes) expect([code, /data-label="Given by">(.+?)<\/td>/s.exec(rowOf(page, code)) !== null]).toEqual([code, true]);
  });

  test('are linked from the description of the OpenAPI document', async () => {
    expect((await service.get('/openapi.json')).body.info.description).toContain('`/docs/errors`');
  });
});

test('the pages escape all text of declarations', () => {
  const features: Features = {
    '<b>"feature"': [
      {
        method: 'POST',
        path: '/{x}/<x>',
        operationId: 'x',
        caller: 'optional',
        summary: '<script>alert(1)</script>',
        description: "`<i>` & 'it'\n\n- <i>",
        params: z.object({ x: z.string().meta({ description: '<i>', example: '"><i>' }) }),
        body: z.object({ '<x>': z.enum(['<i>', '</textarea><i>']).meta({ description: '<i>' }) }),
        reply: z.object({ '<x>': z.object({ '<i>': z.string() }) }),
        errors: ['room_full'],
        example: 'curl $base/<x>',
      },
    ],
  };
  const live = [
    {
      path: '/<x>/live',
      summary: '<b>"live"</b>',
      description: '<i>',
      sends: { '<x>': z.object({ '<x>': z.literal('<i>') }) },
      receives: {},
      errors: [],
    },
  ];
  const pages = [
    referencePage(openapiDocument(features, new Schemas(errorSchemas)) as OpenapiParts),
    channelsPage(asyncapiDocument(live, new Schemas(errorSchemas, 'draft-7'))),
    errorsPage(errorGivers(features, live)),
  ];
  for (const page of pages) {
    expect(page).not.toMatch(/<script>|<x>|<i>|<b>"|"><i>/);
    expect(page).toContain('&#60;x&#62;');
  }
  expect(pages[0]).toContain('&#60;script&#62;alert(1)&#60;/script&#62;');
  expect(pages[0]).toContain('<code>&#60;i&#62;</code> &#38; &#39;it&#39;');
});
