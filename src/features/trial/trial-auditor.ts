import { accountKey } from '../../accounts/account-keys.ts';
import { accountPatterns } from '../../accounts/account-auditor.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { trialKeys } from './model.ts';

/**
 * Checks that the start of each device's trial can be read, and that the trial that is linked to an account has the same start as the
 * device's trial.
 */
export const trialAuditor: Auditor = {
  keys: [
    { pattern: accountPatterns.account, check: ([id], probe) => checkAccount(id!, probe) },
    {
      pattern: /^\{device:(.*)\}$/,
      type: 'hash',
      life: 'lasts',
      readsKey: true,
      texts: {
        what: 'fields',
        isRight: (text) => /^\d{1,15}$/.test(text),
        fields: ['trialStartedAt'],
        subject: ([device]) => `device ${device}`,
      },
    },
  ],
};

/**
 * Checks the trial of an account. A link copies the start of the device's trial into the account, and only an operator changes that start.
 * After a guest moved in, the account has the start and the device either of its own trial or of the guest's.
 */
async function checkAccount(id: string, probe: Probe): Promise<Finding[]> {
  const [startedAt, device] = await probe.fields(accountKey(id), 'trialStartedAt', 'trialDevice');
  if (startedAt == null || device == null) return [];
  const fields = (await probe.ask('HMGET', trialKeys.device(device), 'trialStartedAt', 'earlierStarts')) as (string | null)[];
  const [ofDevice = null, earlier] = fields;
  if (ofDevice === startedAt || earlier?.split(' ').includes(startedAt) === true) return [];
  const began = ofDevice === null ? 'has no start' : `began at ${ofDevice}`;
  const text = `The account's trial began at ${startedAt}, but the trial of its device ${device} ${began} (milliseconds since 1970).`;
  // If the device's start is lost, it can be restored from the account's copy.
  const commands: Command[] = ofDevice === null ? [['HSETNX', trialKeys.device(device), 'trialStartedAt', startedAt]] : [];
  return [{ kind: 'trial_differs', subject: `account ${id}`, text, commands }];
}
