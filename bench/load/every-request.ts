import type { LoadCaller, LoadOrder, RequestPlan } from './order.ts';

/**
 * Every kind of request that scenarios measure, and others that share code with them, with sessions and with installIds. A
 * server gets them before it is measured: if it had served only one kind of request, V8 would have compiled its code for that
 * kind alone, and the code would be faster than in real use. A server that lacks a route refuses the request.
 */
const session = { cookie: '$cookie' };
const install = { 'x-install-id': '$installId' };

const requests: readonly RequestPlan[] = [
  { method: 'GET', path: '/health' },
  { method: 'GET', path: '/v1/highscores/bench' },
  { method: 'POST', path: '/v1/highscores/bench', headers: session, body: '{"score":$score,"name":"Ada"}' },
  { method: 'POST', path: '/v1/highscores/bench', body: '{"installId":"$installId","score":$score,"name":"Ada"}' },
  { method: 'GET', path: '/v1/balance', headers: session },
  { method: 'GET', path: '/v1/balance', headers: install },
  { method: 'POST', path: '/v1/coins/credit', headers: session, body: '{"coins":$coins,"key":"$key"}' },
  { method: 'POST', path: '/v1/coins/credit', body: '{"installId":"$installId","coins":$coins,"key":"$key"}' },
  { method: 'POST', path: '/v1/coins/credit', headers: session, body: '{"coins":5,"key":"again"}' },
  { method: 'POST', path: '/v1/coins/debit', headers: session, body: '{"coins":$coins,"key":"less-$key"}' },
  { method: 'GET', path: '/v1/coins/history?limit=5', headers: session },
  { method: 'GET', path: '/v1/session', headers: session },
  { method: 'GET', path: '/v1/entitlement', headers: session },
  { method: 'GET', path: '/v1/catalogue' },
  { method: 'POST', path: '/v1/account/resolve', body: '{"installId":"$installId"}' },
  { method: 'POST', path: '/v1/pair/new', body: '{}' },
  // Refused requests: an unknown room, a missing caller, an invalid body.
  { method: 'GET', path: '/v1/rooms/ZZZZ' },
  { method: 'GET', path: '/v1/balance' },
  { method: 'POST', path: '/v1/coins/credit', headers: session, body: '{"coins":"many"}' },
];

export function everyRequest(
  order: Pick<LoadOrder, 'url' | 'connections' | 'keyPrefix'> & { callers: readonly LoadCaller[]; each: number },
): LoadOrder {
  const { each, ...rest } = order;
  return { ...rest, requests, from: 0, seconds: 30, count: each * requests.length };
}
