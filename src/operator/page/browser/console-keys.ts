import { call, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { chip, link, row, section, table, time, type Asked, type Shown } from './console-parts.ts';

/** The server keys, and their changes. */
export async function keysView(asked: Asked): Promise<Shown> {
  const { keys } = await call('/console/keys', { signal: asked.signal });
  const rows = (keys as Answer[]).map(({ id, name, state, role, scopes, game, createdAt, expiresAt, usedAt }) => [
    link(['log'], id, { operator: `key:${id}` }),
    name,
    chip(state, state === 'valid' ? 'live' : 'waiting'),
    role ?? scopes.join(', '),
    game,
    time(createdAt),
    time(expiresAt),
    time(usedAt),
    state === 'valid' ? row(...['rotate', 'revoke'].map((verb) => changeButton(`keys ${verb}`, { id }, asked, `the key ${id}`))) : '',
  ]);
  return {
    title: 'Server keys',
    parts: [
      section(
        'All keys',
        table('Server keys', ['Key', 'Name', 'State', 'May', 'Game', 'Made', 'Ends', 'Used last', ''], rows, 'No keys.'),
        row(changeButton('keys create', {}, asked)),
      ),
    ],
  };
}
