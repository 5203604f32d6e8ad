import { z } from 'zod';
import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { AccountId } from '../accounts/ids.ts';
import { runWhereItIs } from '../accounts/standing-reader.ts';
import { standingLibrary } from '../accounts/standing.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { deviceHash, DeviceId, statusScript, trialKeys, trialOf, TrialReply } from '../features/trial/model.ts';
import { afterWrites } from '../redis/script-runner.ts';
import { read } from '../redis/reads.ts';
import { defineScript } from '../redis/script.ts';
import { followed, foreseenWithoutFields } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import { operation, Reason, type OperatorServices, type Prepared } from './operation.ts';
import { minute, type Part } from './shown/cells.ts';

const changeTrial = defineScript({
  file: new URL('change-trial.lua', import.meta.url),
  keys: ['device'],
  args: ['startedAt'],
  answers: ['changed', 'none'],
  durable: true,
});

const linkTrial = defineScript({
  file: new URL('link-trial.lua', import.meta.url),
  keys: ['account', 'standing'],
  args: ['deviceHash', 'startedAt'],
  answers: ['linked', 'other_device', 'moving', 'moved', 'deleted', 'not_found'],
  durable: true,
  library: standingLibrary,
});

const Input = z.object({
  device: DeviceId.meta({ description: 'A deviceId, or the hash of one, which `accounts show` has.' }),
  account: Account.optional().meta({ description: 'An account that is linked to this device or to no device: its trial changes too.' }),
  reason: Reason,
});

const Reply = z.object({
  device: z.string().meta({ description: 'The hash of the deviceId.' }),
  // This shape has no id, unlike `TrialReply`, because generated clients would define that name twice.
  trial: z.object(TrialReply.shape),
  startedBefore: z.iso.datetime(),
  accountId: AccountId.optional().meta({ description: 'The account whose trial changed too.' }),
});

const shown = ({ device, trial: { startedAt = '', expiresAt = '' }, accountId }: z.output<typeof Reply>): Part[] => [
  `The trial of the device ${device}${accountId === undefined ? '' : ` and of ${accountId}`} began at ${minute(startedAt)} UTC, and ends at ${minute(expiresAt)} UTC.`,
];

const errors = ['no_trial', 'account_not_found', 'account_deleted', 'invalid_request'] as const;

const exampleOf = (verb: string): string =>
  `curl -s $base/v1/admin/trials/${verb} -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' ` +
  `-d '{"device":"device-0001","reason":"the app crashed all week, ticket 4711"}'`;

export const restartTrial = operation({
  name: 'trials restart',
  method: 'POST',
  path: '/v1/admin/trials/restart',
  words: ['device'],
  operationId: 'restartTrial',
  title: 'Begin the trial again',
  role: 'economist',
  summary: "Begins a device's trial again.",
  description:
    'An account that linked the device earlier keeps its own start, unless `account` names it: then its trial begins again too. If a guest ' +
    'with an earlier start moves into the account, the earlier start counts, as always.',
  input: Input,
  reply: Reply,
  errors,
  example: exampleOf('restart'),
  shown,
  prepare: (input, services) => prepared('Begin', input, services),
});

export const restoreTrial = operation({
  name: 'trials restore',
  method: 'POST',
  path: '/v1/admin/trials/restore',
  words: ['device'],
  operationId: 'restoreTrial',
  title: 'Take the last restart back',
  role: 'economist',
  summary: "Undoes the last restart of a device's trial.",
  input: Input,
  reply: Reply,
  errors,
  example: exampleOf('restore'),
  shown,
  prepare: (input, services) => prepared('Restore', input, services),
});

async function prepared(
  verb: 'Begin' | 'Restore',
  { device: text, account: asked, reason }: z.output<typeof Input>,
  services: OperatorServices,
): Promise<Prepared<z.input<typeof Reply>> | Refusal> {
  const device = await deviceNamed(text, services);
  if (device === undefined) return refuse('no_trial', { message: 'This device never had a trial.' });
  const account = asked === undefined ? undefined : await followed(asked, services);
  if (account instanceof Refusal) return account;
  const linked = account?.fields['trialDevice'] ?? '';
  if (account !== undefined && linked !== '' && linked !== device) return otherDevice();
  const [earlier = ''] = await read(services.scripts, 'HGET', trialKeys.device(device), 'earlierStarts');
  const hasRestart = earlier !== '';
  const of = account === undefined ? '' : ` and of the account ${account.accountId}`;
  const work = verb === 'Begin' ? 'Begin the trial' : 'Take back the last restart of the trial';
  return {
    question: `${work} of the device ${device}${of}${verb === 'Begin' ? ' again' : ''}? Reason: ${reason}`,
    foreseen: verb === 'Restore' && !hasRestart ? noRestart() : account && foreseenWithoutFields(account),
    what: { device, account: account?.accountId },
    why: reason,
    noted: ({ trial: { startedAt = '' }, startedBefore }) => ({ startedAt, startedBefore }),
    act: () => change(device, verb === 'Begin' ? services.now() : '', account?.accountId, services),
  };
}

async function change(device: string, startedAt: number | '', account: string | undefined, services: OperatorServices) {
  const { scripts, config, now } = services;
  const [word, start, before] = await scripts.run(changeTrial, { device: trialKeys.device(device) }, { startedAt });
  if (word === 'none') return noRestart();
  const accountId = account === undefined ? undefined : await afterWrites(follow(account, device, start!, services));
  if (accountId instanceof Refusal) return accountId;
  return {
    device,
    trial: trialOf(Number(start), now(), config.TRIAL_DAYS),
    startedBefore: new Date(Number(before)).toISOString(),
    ...(accountId === undefined ? {} : { accountId }),
  };
}

async function follow(account: string, device: string, startedAt: string, { scripts }: OperatorServices) {
  const { word, accountId } = await runWhereItIs(account, scripts, (id) =>
    scripts.run(linkTrial, { account: accountKey(id), standing: standingKey(id) }, { deviceHash: device, startedAt }),
  );
  if (word === 'linked') return accountId;
  if (word === 'other_device') return otherDevice();
  return refuse(word === 'deleted' ? 'account_deleted' : 'account_not_found');
}

const noRestart = () => refuse('no_trial', { message: 'There is no restart to take back.' });

const otherDevice = (): Refusal => invalid('account', 'Has the trial of another device');

/** The hash of the device that an operator's text stands for. Undefined for a device without a trial. */
async function deviceNamed(text: string, { scripts }: OperatorServices): Promise<string | undefined> {
  for (const hash of /^[\w-]{22}$/.test(text) ? [text, deviceHash(text)] : [deviceHash(text)])
    if ((await scripts.run(statusScript, { holder: trialKeys.device(hash) }, {}))[0] === 'started') return hash;
  return undefined;
}
