import type { Case, Json, Step, StepOf } from '../case.ts';
import { bySession, failed, INSTALL, lost, ME, ok, refused } from './parts.ts';

const options = { installId: INSTALL };
const SLOT = 'POST /v1/saves/drop/slot-1';
const READ = 'GET /v1/saves/drop/slot-1';
const name = { game: 'drop', name: 'slot-1' };
const AT = '2026-01-01T00:00:00.000Z';

const of = (title: string, steps: Step[], more: { merged?: Json } = {}): Case => ({
  name: title,
  kind: 'saves',
  options: { ...options, ...more },
  steps,
});
const save = (data: Json, as = 'save'): Step => ({ call: 'saves.save', input: { ...name, data }, as });
const sent = (data: Json, ifVersion: number, more: Partial<StepOf<'request'>>): Step => ({
  request: SLOT,
  body: { data, ifVersion, device: 'Test' },
  headers: ME,
  ...more,
});
const wrote = (version: number) => ok({ version, updatedAt: AT });
const told = (result: Json): Step => ({ event: 'saved', is: [name, result] });
const saved = (data: Json, ifVersion: number, version: number, as = 'save'): Step[] => [
  sent(data, ifVersion, { answer: wrote(version) }),
  { result: as, is: { ok: true, version, updatedAt: AT, data } },
  told({ ok: true, version, updatedAt: AT, data }),
];
const loads = (version: number, data: Json): Step[] => [
  { call: 'saves.load', input: name },
  { request: READ, headers: ME, answer: ok({ name: 'slot-1', version, data, updatedAt: AT, device: 'Phone' }) },
  { result: 'saves.load', is: { ok: true, name: 'slot-1', version, data, updatedAt: AT, device: 'Phone' } },
];
const stale = (version: number, data: Json) => refused(409, 'stale_save', { version, data, updatedAt: AT, device: 'Phone' });
const wait = (retryAfterMs = 1000) => refused(503, 'store_unavailable', { retryAfterMs });

export const saves: Case[] = [
  of('a first save may replace nothing', [save({ level: 1 }), ...saved({ level: 1 }, 0, 1)]),
  of('each save is based on the one before', [save(1, 'a'), ...saved(1, 0, 1, 'a'), save(2, 'b'), ...saved(2, 1, 2, 'b')]),
  of('a save is based on what was loaded', [...loads(7, { level: 4 }), save({ level: 5 }), ...saved({ level: 5 }, 7, 8)]),
  of('a save that does not exist is told', [
    { call: 'saves.load', input: name },
    { request: READ, answer: refused(404, 'save_not_found') },
    { result: 'saves.load', is: failed(404, 'save_not_found') },
  ]),
  of('a save is stored before it is sent, and sent by the next start', [
    save({ level: 'kept' }),
    sent({ level: 'kept' }, 0, {}),
    { stored: 'kept', times: 1 },
    { kill: true },
    { start: options },
    sent({ level: 'kept' }, 0, { answer: wrote(1) }),
    told({ ok: true, version: 1, updatedAt: AT, data: { level: 'kept' } }),
    { kill: true },
    { start: options },
    { pass: 120_000 },
  ]),
  of('of one name only the newest is sent after an outage', [
    save(1, 'a'),
    sent(1, 0, { answer: wait(20_000) }),
    { result: 'a', is: failed(503, 'store_unavailable', { retryAfterMs: 20_000 }, { pending: true, data: 1 }) },
    told(failed(503, 'store_unavailable', { retryAfterMs: 20_000 }, { pending: true, data: 1 })),
    save(2, 'b'),
    sent(2, 0, { answer: wait(20_000) }),
    { result: 'b', is: failed(503, 'store_unavailable', { retryAfterMs: 20_000 }, { pending: true, data: 2 }) },
    told('$any'),
    sent(2, 0, { after: [20_000, 20_300], answer: wrote(1) }),
    told({ ok: true, version: 1, updatedAt: AT, data: 2 }),
    { pass: 120_000 },
  ]),
  of('a save made while another is under way follows it', [
    save(1, 'a'),
    sent(1, 0, { as: 'first' }),
    save(2, 'b'),
    { answer: 'first', with: wrote(1) },
    sent(2, 1, { answer: wrote(2) }),
    { result: 'a', is: { ok: true, version: 2, updatedAt: AT, data: 2 } },
    { result: 'b', is: { ok: true, version: 2, updatedAt: AT, data: 2 } },
    told({ ok: true, version: 2, updatedAt: AT, data: 2 }),
  ]),
  of('a load gives what waits to be sent, while the service does not answer', [
    save(1),
    sent(1, 0, { answer: wait(60_000) }),
    { result: 'save', is: '$any' },
    told('$any'),
    { call: 'saves.load', input: name, timeoutMs: 3000 },
    sent(1, 0, { answer: wait(60_000) }),
    told('$any'),
    { request: READ, answer: wait(60_000) },
    { result: 'saves.load', after: [3000, 3000], is: { ok: true, name: 'slot-1', version: 0, data: 1, pending: true } },
  ]),
  of(
    'a conflict is handed to the game once, and what it returns is sent',
    [
      ...loads(3, { hats: ['red'] }),
      save({ hats: ['red', 'blue'] }),
      sent({ hats: ['red', 'blue'] }, 3, { answer: stale(4, { hats: ['red', 'green'] }) }),
      {
        event: 'conflict',
        is: [{ data: { hats: ['red', 'blue'] } }, { '...': true, version: 4, data: { hats: ['red', 'green'] }, device: 'Phone' }, name],
      },
      sent({ hats: ['all'] }, 4, { answer: wrote(5) }),
      { result: 'save', is: { ok: true, version: 5, updatedAt: AT, data: { hats: ['all'] } } },
      told('$any'),
    ],
    { merged: { hats: ['all'] } },
  ),
  of('without onConflict this device’s data is kept', [
    save('mine'),
    sent('mine', 0, { answer: stale(4, 'theirs') }),
    sent('mine', 4, { answer: wrote(5) }),
    { result: 'save', is: { ok: true, version: 5, updatedAt: AT, data: 'mine' } },
    told('$any'),
  ]),
  of(
    'an own save whose answer was lost is no conflict',
    [
      save('one', 'a'),
      sent('one', 0, { cut: 'before' }),
      { result: 'a', is: lost('network', { pending: true, data: 'one' }) },
      told('$any'),
      save('two', 'b'),
      sent('two', 0, { answer: stale(1, 'one') }),
      sent('two', 1, { answer: wrote(2) }),
      { result: 'b', is: { ok: true, version: 2, updatedAt: AT, data: 'two' } },
      told('$any'),
      { pass: 60_000 },
    ],
    { merged: 'wrong' },
  ),
  of(
    'an own save whose answer was lost in a kill is no conflict, once the game has loaded it',
    [
      save('one', 'a'),
      sent('one', 0, {}),
      { kill: true },
      { start: { ...options, merged: 'wrong' } },
      sent('one', 0, { answer: wait(60_000) }),
      told('$any'),
      { call: 'saves.load', input: name, timeoutMs: 1000 },
      sent('one', 0, { answer: wait(60_000) }),
      told('$any'),
      { request: READ, answer: wait(60_000) },
      { result: 'saves.load', after: [1000, 1000], is: { ok: true, name: 'slot-1', version: 0, data: 'one', pending: true } },
      save('two', 'b'),
      sent('two', 0, { answer: stale(1, 'one') }),
      sent('two', 1, { answer: wrote(2) }),
      { result: 'b', is: { ok: true, version: 2, updatedAt: AT, data: 'two' } },
      told('$any'),
    ],
    { merged: 'wrong' },
  ),
  of(
    'a save that a new start makes without a load is in conflict with what the earlier start has sent',
    [
      save('one', 'a'),
      sent('one', 0, {}),
      { kill: true },
      { start: { ...options, merged: 'both' } },
      sent('one', 0, { answer: wait(5000) }),
      told('$any'),
      save('two', 'b'),
      sent('two', 0, { answer: stale(1, 'one') }),
      { event: 'conflict', is: [{ data: 'two' }, { '...': true, data: 'one', version: 1 }, name] },
      sent('both', 1, { answer: wrote(2) }),
      { result: 'b', is: { ok: true, version: 2, updatedAt: AT, data: 'both' } },
      told({ ok: true, version: 2, updatedAt: AT, data: 'both' }),
      save('three', 'c'),
      ...saved('three', 2, 3, 'c'),
    ],
    { merged: 'both' },
  ),
  of(
    'the save of a guest who moved is handed to the game as theirs',
    [
      { call: 'saves.load', input: name },
      { request: READ, answer: ok({ name: 'slot-1', version: 6, data: 'account', updatedAt: AT, other: { version: 5 } }) },
      { request: 'GET /v1/saves/drop/slot-1?version=5', answer: ok({ name: 'slot-1', version: 5, data: 'guest', updatedAt: AT }) },
      { event: 'conflict', is: [{ '...': true, data: 'account', version: 6 }, { '...': true, data: 'guest', version: 5 }, name] },
      sent('both', 6, { answer: wrote(7) }),
      { result: 'saves.load', is: { ok: true, name: 'slot-1', version: 7, updatedAt: AT, data: 'both' } },
      told('$any'),
    ],
    { merged: 'both' },
  ),
  of('a final refusal drops the save', [
    save('too large'),
    sent('too large', 0, { answer: refused(409, 'save_limit') }),
    { result: 'save', is: failed(409, 'save_limit') },
    told(failed(409, 'save_limit')),
    { stored: 'too large', times: 0 },
    { pass: 120_000 },
  ]),
  of('a call of save ends after 15 s, and the save is sent later', [
    save(1),
    sent(1, 0, { as: 'never' }),
    { result: 'save', after: [5000, 5000], is: lost('timeout', { pending: true, data: 1 }) },
    told(lost('timeout', { pending: true, data: 1 })),
    sent(1, 0, { after: [0, 300], answer: wrote(1) }),
    told({ ok: true, version: 1, updatedAt: AT, data: 1 }),
  ]),
  of('a save belongs to the player who made it', [
    save('of the guest'),
    sent('of the guest', 0, { answer: refused(401, 'sign_in_required') }),
    { result: 'save', is: failed(401, 'sign_in_required', {}, { pending: true, data: 'of the guest' }) },
    told('$any'),
    { call: 'store.provision', input: { token: 't' } },
    { request: 'POST /v1/account/store-provision', answer: ok({ accountId: 'a2', sessionToken: 's2', moved: false, notMoved: 'own' }) },
    { result: 'store.provision', is: '$any' },
    save('of the account', 'b'),
    { request: SLOT, body: { data: 'of the account', ifVersion: 0, device: 'Test' }, headers: bySession('s2'), answer: wrote(1) },
    { result: 'b', is: { ok: true, version: 1, updatedAt: AT, data: 'of the account' } },
    told('$any'),
    { stored: 'of the guest', times: 1 },
  ]),
];
