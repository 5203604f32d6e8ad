import type { RequestPlan } from '../load/order.ts';
import type { Scenario } from '../scenario.ts';
import { coinop } from './sides.ts';

/**
 * The requests whose answers or cookies are signed, and those that cost about as much. A run has no other side to compare them with: they
 * are for `--compare`, together with `balance`.
 */
interface Signed {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly callers: 'anonymous' | 'installs' | 'sessions' | 'devices';
  readonly request: RequestPlan;
}

const asCookie = { cookie: '$cookie' };

const requests: readonly Signed[] = [
  {
    name: 'touch',
    title: "A trial's touch",
    summary: 'POST of a touch by a device without a cookie, whose trial has begun.',
    callers: 'installs',
    request: { method: 'POST', path: '/v1/trial/touch', body: '{"deviceId":"$installId"}' },
  },
  {
    name: 'status',
    title: 'A trial by its cookie',
    summary: "GET of a trial, named by the device's cookie.",
    callers: 'devices',
    request: { method: 'GET', path: '/v1/trial/status', headers: asCookie },
  },
  {
    name: 'link',
    title: 'A linked trial',
    summary: 'POST of the link of a device, named by its cookie, that was linked before.',
    callers: 'devices',
    request: { method: 'POST', path: '/v1/trial/link', headers: asCookie, body: '{}' },
  },
  {
    name: 'proof',
    title: 'A proof of an entitlement',
    summary: 'GET of an entitlement with its proof, by session.',
    callers: 'sessions',
    request: { method: 'GET', path: '/v1/entitlement?proof=1', headers: asCookie },
  },
  {
    name: 'login',
    title: 'A login',
    summary: 'POST of a login to an account that exists.',
    callers: 'installs',
    request: { method: 'POST', path: '/v1/login', body: '{"installId":"$installId"}' },
  },
  {
    name: 'pairing',
    title: 'A new pairing',
    summary: 'POST of a new pairing.',
    callers: 'anonymous',
    request: { method: 'POST', path: '/v1/pair/new', body: '{}' },
  },
];

/** A load with a single kind of request needs only the six rounds of an interval. */
const APART = { minutes: 0.5 };

export const signed: readonly Scenario[] = requests.map(({ name, title, summary, callers, request }) => ({
  name: `signed-${name}`,
  family: 'signed',
  title,
  summary,
  operation: 'request',
  anywhere: true,
  sides: [coinop({ callers, requests: [request] })],
  targets: [],
  apart: APART,
}));
