import { call, type Answer, type Operator } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { chip, input, link, section, select, table, time, type Asked, type Part, type Shown } from './console-parts.ts';
import { make } from '../../../web/browser/dom.ts';

const secretOf = ({ token, id }: Answer) => ({ label: `The key ${id}`, text: token as string });

/** The server keys, and their changes. */
export async function keysView({ operator, signal, again }: Asked): Promise<Shown> {
  const { keys } = await call('/console/keys', { signal });
  const rows = (keys as Answer[]).map((key) => [
    link(['log'], key.id, { operator: `key:${key.id}` }),
    key.name,
    chip(key.state, key.state === 'valid' ? 'live' : 'waiting'),
    key.role ?? key.scopes.join(', '),
    key.game,
    time(key.createdAt),
    time(key.expiresAt),
    time(key.usedAt),
    key.state === 'valid' ? make('span', { className: 'row' }, rotateButton(key, operator, again), revokeButton(key, operator, again)) : '',
  ]);
  return {
    title: 'Server keys',
    parts: [
      section(
        'All keys',
        table('Server keys', ['Key', 'Name', 'State', 'May', 'Game', 'Made', 'Ends', 'Used last', ''], rows, 'No keys.'),
        make('div', { className: 'row' }, createButton(operator, again)),
      ),
    ],
  };
}

const days = (value: string): HTMLInputElement => input('days', value, { type: 'number', required: true, min: '1', max: '366', step: '1' });

const ROLES = [
  ['support', 'a person: support'],
  ['viewer', 'a person: viewer'],
  ['economist', 'a person: economist'],
  ['admin', 'a person: admin'],
  ['', 'a server, by scopes'],
] as const;

function createButton(operator: Operator, again: () => void): HTMLElement {
  const name = input('name', '', { required: true, maxLength: 64 });
  const role = select('role', 'support', ROLES);
  const scopes = input('scopes', '', { placeholder: 'coins,rooms' });
  const game = input('game', '', { pattern: '[a-z0-9][a-z0-9_\\-]{0,63}' });
  const life = days('90');
  const words = (text: string): string[] =>
    text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
  return changeButton(
    {
      title: 'Make a key',
      operation: 'keys create',
      path: '/console/keys',
      target: {},
      hint: 'Anybody who has the key can use it until it ends, so give each person and each server a separate key.',
      fields: [
        ['Person or server that has it', name],
        ['For', role],
        ['Scopes of a server', scopes],
        ['Only of the game (empty: all)', game],
        ['Ends in days', life],
      ],
      valuesOf: () => ({
        name: name.value.trim(),
        ...(role.value === '' ? {} : { role: role.value }),
        scopes: words(scopes.value),
        ...(game.value.trim() === '' ? {} : { game: game.value.trim() }),
        expiresInDays: Number(life.value),
      }),
      secretOf,
    },
    operator,
    again,
  );
}

const named = (button: HTMLElement, { id }: Answer): HTMLElement => {
  button.setAttribute('aria-label', `${button.textContent} the key ${id}`);
  return button;
};

function rotateButton(key: Answer, operator: Operator, again: () => void): Part {
  const overlap = input('overlap', '7', { type: 'number', required: true, min: '0', max: '366', step: '1' });
  const life = days('90');
  const change = {
    title: 'Rotate',
    operation: 'keys rotate',
    path: `/console/keys/${key.id}/rotate`,
    target: { id: key.id as string },
    fields: [
      ['The old key ends in days', overlap],
      ['The new key ends in days', life],
    ] as const,
    valuesOf: () => ({ overlapDays: Number(overlap.value), expiresInDays: Number(life.value) }),
    secretOf,
  };
  return named(changeButton(change, operator, again), key);
}

function revokeButton(key: Answer, operator: Operator, again: () => void): Part {
  const change = { title: 'Revoke', operation: 'keys revoke', path: `/console/keys/${key.id}/revoke`, target: { id: key.id as string } };
  return named(changeButton(change, operator, again), key);
}
