import type { z } from 'zod';
import { restartTrial, restoreTrial } from '../trials.ts';
import type { CommandGroup } from './command.ts';
import { commandOf } from './operate.ts';
import { minuteOfText } from './table.ts';

const flags = { account: { value: 'ID', summary: 'an accountId that is linked to the device: its trial changes too' } };

const text = ({ device, trial, accountId }: z.output<typeof restartTrial.reply>): string =>
  `The trial of the device ${device}${accountId === undefined ? '' : ` and of ${accountId}`} began at ${minuteOfText(trial.startedAt)} UTC, and ends at ${minuteOfText(trial.expiresAt)} UTC.`;

export const trials: CommandGroup = {
  name: 'trials',
  summary: 'trials of devices',
  note: 'DEVICE is a deviceId, or its hash, which accounts show has.',
  commands: {
    restart: commandOf(restartTrial, {
      words: ['DEVICE'],
      flags,
      changes: true,
      input: ({ words: [device], flags: { account } }) => ({ device, account }),
      text,
    }),
    restore: commandOf(restoreTrial, {
      words: ['DEVICE'],
      flags,
      changes: true,
      input: ({ words: [device], flags: { account } }) => ({ device, account }),
      text,
    }),
  },
};
