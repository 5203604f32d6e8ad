import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { api, channels } from '../../src/api.ts';
import { page } from '../../src/docs/page.ts';
import { start, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

describe('GET /', () => {
  test('answers with an English HTML document', async () => {
    const { status, headers, body } = await service.get('/');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(body).toContain('<title>coinop');
  });

  test('lists every endpoint and channel and links to documents and probes, which answer 200', async () => {
    const { body } = await service.get('/');
    const text = body.replaceAll('<wbr>', '');
    for (const { path } of api) expect(text).toContain(`<code>${path}</code>`);
    for (const { path } of channels) expect(text).toContain(`<b class="ws">WS</b> <code>${path}</code>`);
    for (const link of ['/openapi.json', '/asyncapi.json', '/?format=json', '/health', '/ready', '/metrics']) {
      expect(body).toContain(`href="${link}"`);
      expect((await service.get(link)).status).toBe(200);
    }
  });

  test('its content security policy allows only its own style sheet, and it uses nothing else', async () => {
    const { headers, body } = await service.get('/');
    const style = /<style>([^]*)<\/style>/.exec(body)![1]!;
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    // That policy blocks style attributes, scripts and images.
    expect(body).not.toMatch(/<script|<img|<link|\sstyle=|\son\w+=/);
    expect(body.replace(/<pre[^]*?<\/pre>/g, '')).not.toContain('http');
  });

  test('escapes all text of declarations', () => {
    const written = page(
      {
        '<b>"feature"': [
          {
            method: 'GET',
            path: '/<x>',
            aliases: ['/"a"'],
            caller: 'none',
            summary: '<script>alert(1)</script>',
            description: "`<i>` & 'it'",
            reply: z.object({}),
            example: 'curl $base/<x>',
          },
        ],
      },
      [
        {
          path: '/<x>/live',
          summary: '<b>"live"</b>',
          description: '<i>',
          query: z.object({ '<x>': z.string() }),
          sends: { '<x>': z.object({}) },
          receives: {},
          errors: [],
        },
      ],
    );
    expect(written).not.toMatch(/<script|<x>|<i>|<b>|"feature"|"live"/);
    expect(written).toContain('&#60;script&#62;alert(1)&#60;/script&#62;');
    expect(written).toContain('<code>&#60;i&#62;</code> &#38; &#39;it&#39;');
  });

  test('answers HEAD with the content type of GET and no body', async () => {
    const { status, headers, body } = await service.get('/', { method: 'HEAD' });
    expect([status, headers.get('content-type'), body]).toEqual([200, 'text/html; charset=utf-8', '']);
  });
});

test.each(['html', 'JSON', '', 'json%00'])('GET / refuses the format "%s"', async (format) => {
  const { status, body } = await service.get(`/?format=${format}`);
  expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'format']);
});

test('GET / ignores other query parameters', async () => {
  expect((await service.get('/?utm_source=x')).headers.get('content-type')).toBe('text/html; charset=utf-8');
});

test('POST / is refused with method_not_allowed', async () => {
  const { status, headers } = await service.post('/', {});
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});
