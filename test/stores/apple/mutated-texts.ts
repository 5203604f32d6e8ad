import { seeded } from '../../seeded.ts';
import { consumable, renewable } from './issuer.ts';
import { anyOf, changes, type Reason } from './text-changes.ts';
import { draftOf, notificationDraft, textOf, type Draft, type Part } from './text-draft.ts';

export interface MutatedText {
  readonly kind: 'transaction' | 'notification';
  readonly text: string;
  readonly changes: readonly string[];
  /** What coinop has to say. */
  readonly isTaken: boolean;
  /** Why only coinop refuses it. Empty: both have the same verdict. */
  readonly reasons: readonly Reason[];
}

/** The part of the texts that only taken changes may have. */
const TAKEN_SHARE = 0.2;

/**
 * Texts that are changed and then signed: each has at most one change because of which it is refused, and some that change no verdict. The
 * same seed gives the same changes.
 */
export function* mutatedTexts(count: number, seed: number): Generator<MutatedText> {
  const random = seeded(seed);
  for (let number = 0; number < count; number++) {
    const kind = random() < 0.6 ? 'transaction' : 'notification';
    const whole = kind === 'notification' ? notificationDraft(random) : draftOf(random() < 0.5 ? consumable() : renewable());
    const parts: [Part, Draft][] = [
      [kind, whole],
      ...(whole.transaction === undefined ? [] : [['transaction', whole.transaction] as [Part, Draft]]),
      ...(whole.renewal === undefined ? [] : [['renewal', whole.renewal] as [Part, Draft]]),
    ];
    const [part, draft] = anyOf(parts, random);
    const fitting = changes.filter(({ of, within }) => (of ?? [part]).includes(part) && (within ?? kind) === kind);
    const isTaken = random() < TAKEN_SHARE;
    const deciding = anyOf(
      fitting.filter(({ verdict }) => (verdict === 'taken') === isTaken),
      random,
    );
    const harmless = fitting.filter((change) => change.verdict === 'taken' && change.isAlone !== true);
    const more = deciding.isAlone === true ? [] : Array.from({ length: Math.floor(random() * 3) }, () => anyOf(harmless, random));
    // The deciding change comes last, so that no other one undoes it.
    for (const change of [...more, deciding]) change.make(draft, random);
    yield {
      kind,
      text: textOf(whole, random),
      changes: [...more, deciding].map(({ what }) => `${what} (${part})`),
      isTaken,
      reasons: deciding.verdict === 'taken' || deciding.verdict === 'refused' ? [] : [deciding.verdict],
    };
  }
}
