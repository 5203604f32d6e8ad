import type { z } from 'zod';
import { restartTrial, restoreTrial } from '../trials.ts';
import { commandOf, groupOf } from './operate.ts';
import { minuteOfText } from './table.ts';

const text = ({ device, trial, accountId }: z.output<typeof restartTrial.reply>): string =>
  `The trial of the device ${device}${accountId === undefined ? '' : ` and of ${accountId}`} began at ${minuteOfText(trial.startedAt)} UTC, and ends at ${minuteOfText(trial.expiresAt)} UTC.`;

export const trials = groupOf(
  { name: 'trials', summary: 'trials of devices', note: 'DEVICE is a deviceId, or its hash, which accounts show has.' },
  commandOf(restartTrial, text),
  commandOf(restoreTrial, text),
);
