import { setAside } from '../../consistency/set-aside-keys.ts';
import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { HOOK_ID, hookKeys, parseHook } from './model.ts';

/** Checks that each hook's record can be parsed, and that each Redis key of deliveries belongs to a hook. */
export const webhookAuditor: Auditor = {
  keys: [
    {
      pattern: /^\{webhooks\}$/,
      type: 'hash',
      life: 'lasts',
      texts: {
        what: 'record',
        isRight: (text, id) => HOOK_ID.test(id) && parseHook(text) !== undefined,
        counted: 'webhooks',
        kind: 'unreadable_webhook',
        subject: (_parts, id) => `webhook ${id}`,
      },
    },
    {
      pattern: /^(\{webhooks\}:(?:state|waiting):(.*))$/,
      type: 'hash',
      life: 'lasts',
      check: ([key = '', id = ''], probe) => checkOwner(key, id, probe),
    },
    {
      pattern: /^(\{webhooks\}:(?:delivered|failed|asked):(.*))$/,
      type: 'list',
      life: 'lasts',
      check: ([key = '', id = ''], probe) => checkOwner(key, id, probe),
    },
  ],
};

async function checkOwner(key: string, id: string, probe: Probe): Promise<Finding[]> {
  if ((await probe.ask('HEXISTS', hookKeys.hooks, id)) === 1) return [];
  if ((await probe.ask('EXISTS', hookKeys.hooks)) === 0)
    return [{ kind: 'lost_webhooks', subject: `key ${hookKeys.hooks}`, text: 'Redis has deliveries, but no webhook has a record.' }];
  const text = 'Redis has the state of its deliveries, but no webhook has this id.';
  // If the key of the records is not a hash, there is a finding about that key, which explains this finding.
  return [{ kind: 'orphan_webhook', subject: `webhook ${id}`, text, commands: setAside(key), explainedBy: [`key ${hookKeys.hooks}`] }];
}
