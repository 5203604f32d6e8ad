import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { isoTime, timeOf } from '../../accounts/merge-rules.ts';
import { trialFields, trialOf, TrialReply } from './model.ts';
import { trialAuditor } from './trial-auditor.ts';

/**
 * The trial that is linked to the account. The start of the device's own trial is in another key, which stays when the account is deleted.
 */
export const trialHolding = {
  name: 'trial',
  fields: [trialFields],
  auditors: () => [trialAuditor],
  exported: {
    shape: {
      trial: z
        .object({ startedAt: z.iso.datetime(), device: z.string().meta({ description: 'A hash of the deviceId.' }) })
        .optional()
        .meta({ description: 'The trial linked to the account, if there is one.' }),
    },
    firstPage({ fields }) {
      const startedAt = isoTime(fields['trialStartedAt']);
      return startedAt === undefined ? {} : { trial: { startedAt, device: fields['trialDevice'] ?? '' } };
    },
  },
  shown: {
    shape: { trial: TrialReply.extend({ device: z.string().optional().meta({ description: 'A hash of the deviceId.' }) }) },
    show({ fields: { trialStartedAt, trialDevice = '' } }, { now, config }) {
      const trial = trialOf(timeOf(trialStartedAt), now(), config.TRIAL_DAYS);
      return { trial: { ...trial, ...(trialDevice === '' ? {} : { device: trialDevice }) } };
    },
  },
} satisfies Holding;
