import type { Case } from '../case.ts';
import { channels } from './channels.ts';
import { identity } from './identity.ts';
import { outbox } from './outbox.ts';
import { played } from './played.ts';
import { repetitions } from './repetitions.ts';
import { requests } from './requests.ts';
import { saves } from './saves.ts';
import { watched } from './watches.ts';

/** All cases of the conformance run, by kind. */
export const cases: readonly Case[] = [...repetitions, ...requests, ...outbox, ...identity, ...saves, ...watched, ...channels, ...played];
