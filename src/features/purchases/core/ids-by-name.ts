import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';

/** Stores an id under another name for it. Answers kept. */
const keepScript = defineScript({
  name: 'purchases/keep-name',
  lua: `redis.call('SET', name, id)
    return {'kept'}`,
  keys: ['name'],
  args: ['id'],
  answers: ['kept'],
  durable: true,
});

/** Forgets a name. Answers forgotten. */
const forgetScript = defineScript({
  name: 'purchases/forget-name',
  lua: `redis.call('DEL', name)
    return {'forgotten'}`,
  keys: ['name'],
  args: [],
  answers: ['forgotten'],
  durable: true,
});

/** Reads the id to which a name leads. Answers id(the id, or ''). */
const findScript = defineScript({
  name: 'purchases/find-name',
  lua: `return {'id', redis.call('GET', name) or ''}`,
  keys: ['name'],
  args: [],
  answers: ['id'],
  readOnly: true,
});

/** Stores an id of coinop under a name that an app store uses. @param name a Redis key */
export async function keepName(name: string, id: string, scripts: ScriptRunner): Promise<void> {
  await scripts.run(keepScript, { name }, { id });
}

export async function forgetName(name: string, scripts: ScriptRunner): Promise<void> {
  await scripts.run(forgetScript, { name }, {});
}

export async function idNamed(name: string, scripts: ScriptRunner): Promise<string | undefined> {
  const [, id = ''] = await scripts.run(findScript, { name }, {});
  return id === '' ? undefined : id;
}
