import { expect, test } from 'vitest';
import { operation, type LoadOrder } from '../../bench/load/order.ts';
import { requestMaker, spread } from '../../bench/load/requests.ts';

const maker = (request: Partial<LoadOrder['requests'][number]>): ReturnType<typeof requestMaker> =>
  requestMaker({
    url: 'http://127.0.0.1:3000',
    connections: 1,
    requests: [{ method: 'GET', path: '/', ...request }],
    callers: [
      { installId: 'install-a', cookie: 'svc_session=a' },
      { installId: 'install-b', cookie: 'svc_session=b' },
    ],
    keyPrefix: '01234567-89ab-4cde-8f01-',
    from: 0,
    seconds: 1,
  });

test('a request is HTTP/1.1 text whose values are computed from its number', () => {
  const body = '{"coins":$coins,"key":"$key"}';
  const credit = maker({ method: 'POST', path: '/v1/coins/credit', headers: { cookie: '$cookie' }, body, isOperation: true });
  expect(credit.text(11)).toBe(
    'POST /v1/coins/credit HTTP/1.1\r\nhost: 127.0.0.1:3000\r\ncookie: svc_session=b\r\n' +
      'content-type: application/json\r\ncontent-length: 56\r\n\r\n{"coins":3,"key":"01234567-89ab-4cde-8f01-00000000000b"}',
  );
  expect(credit.operation(11)).toBe(11);
  expect(operation(11, '01234567-89ab-4cde-8f01-')).toEqual({ key: '01234567-89ab-4cde-8f01-00000000000b', coins: 3 });

  const read = maker({ path: '/v1/balance?installId=$installId' });
  expect(read.text(2)).toBe('GET /v1/balance?installId=install-a HTTP/1.1\r\nhost: 127.0.0.1:3000\r\n\r\n');
  expect(read.operation(2)).toBeUndefined();

  const repeated = maker({ method: 'POST', body: '$key', isOperation: true, repeats: 3 });
  expect([repeated.text(7), repeated.operation(7)]).toEqual([repeated.text(1), 1]);

  expect(() => maker({ path: '/$nothing' })).toThrow('a request has an unknown value $nothing');
});

test('requests are mixed evenly and in proportion to their shares', () => {
  expect(spread([3, 1])).toEqual([0, 0, 1, 0]);
  const day = spread([40, 40, 12, 8]);
  expect([0, 1, 2, 3].map((kind) => day.filter((turn) => turn === kind).length)).toEqual([40, 40, 12, 8]);
  expect(new Set(day.slice(0, 20)).size).toBe(4);
});
