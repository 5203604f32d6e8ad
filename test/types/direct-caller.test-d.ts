import type { DirectCaller } from '../../bench/load/direct.ts';
import { credit } from '../../src/features/coins/credit.ts';
import { storeProvision } from '../../src/features/sign-in/provision.ts';

/** The handlers that the bench calls without a server take only services that it makes. */
declare const call: DirectCaller;

void call(credit, { installId: 'ada' });
// @ts-expect-error the bench has no app store
void call(storeProvision, { installId: 'ada' });
