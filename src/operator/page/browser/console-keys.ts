import { call } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { listed, row, section, type Asked, type Shown } from './console-parts.ts';
import { serverKeys } from '../../shown/shown-keys.ts';

/** The server keys, and their changes. */
export async function keysView(asked: Asked): Promise<Shown> {
  const { keys } = await call('/console/keys', { signal: asked.signal });
  const changes = ({ id, state }: { readonly id: string; readonly state: string }): HTMLElement | '' =>
    state === 'valid' ? row(...['rotate', 'revoke'].map((verb) => changeButton(`keys ${verb}`, { id }, asked, `the key ${id}`))) : '';
  return {
    title: 'Server keys',
    parts: [section('All keys', listed(serverKeys, keys, { act: changes }), row(changeButton('keys create', {}, asked)))],
  };
}
