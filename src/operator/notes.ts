import { z } from 'zod';
import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { AccountId } from '../accounts/ids.ts';
import { plainText } from '../accounts/plain-text.ts';
import { runWhereItIs } from '../accounts/standing-reader.ts';
import { standingLibrary } from '../accounts/standing.ts';
import { invalid, refuse } from '../errors.ts';
import { MAX_NOTE_LENGTH, MOST_NOTES, noteIdOf, notesKey, noteText } from '../features/notes/model.ts';
import { read } from '../redis/reads.ts';
import { defineScript } from '../redis/script.ts';
import { foreseenWithoutFields } from './account-facts.ts';
import { accountChange } from './account-change.ts';
import { Reason, type OperatorServices } from './operation.ts';

const changeScript = defineScript({
  file: new URL('change-note.lua', import.meta.url),
  keys: ['account', 'standing', 'notes'],
  args: ['id', 'text', 'most'],
  answers: ['changed', 'unchanged', 'full', 'moving', 'moved', 'deleted', 'not_found'],
  durable: true,
  library: standingLibrary,
});

export const note = accountChange({
  verb: 'note',
  words: ['text'],
  operationId: 'noteOnAccount',
  title: 'Write a note',
  role: 'support',
  summary: 'Writes a note on an account, for other operators.',
  description:
    `A note shows its operator, its time and its ticket. An account has at most ${MOST_NOTES}. A note moves with a guest, and is erased with ` +
    'the account; the log keeps only that one was written. The owner’s export leaves notes out.',
  fields: {
    text: plainText(MAX_NOTE_LENGTH).meta({ description: `1 to ${MAX_NOTE_LENGTH} characters.`, example: 'Called about a lost phone.' }),
    reason: Reason.meta({
      description: 'The ticket, for the note and the log: 1 to 120 characters.',
      typed: { word: 'TEXT', label: 'Ticket' },
    }),
  },
  reply: z.object({ accountId: AccountId, note: z.string().meta({ description: 'The id of the note.' }), wasThere: z.boolean() }),
  errors: ['invalid_request'],
  body: { text: 'Called about a lost phone.', reason: 'ticket 4711' },
  shown: ({ accountId, note: id, wasThere }) => [`${accountId} ${wasThere ? 'had' : 'has'} the note ${id}${wasThere ? ' already' : ''}.`],
  async plan({ accountId, exists }, { text, reason }, services, { by }) {
    const id = noteIdOf({ by, reason, text });
    const [[count = '0'], [isThere = '0']] = await Promise.all([
      read(services.scripts, 'HLEN', notesKey(accountId)),
      read(services.scripts, 'HEXISTS', notesKey(accountId), id),
    ]);
    return {
      question: `Write this note on the account ${accountId}? “${text}”`,
      foreseen: foreseenWithoutFields({ exists }) ?? (isThere === '0' && Number(count) >= MOST_NOTES ? isFull() : undefined),
      what: { note: id },
      async act() {
        const changed = await changeNote(accountId, id, noteText.write({ at: services.now(), by, reason, text }), services);
        if (changed.word === 'full') return isFull();
        if (changed.word === 'deleted') return refuse('account_deleted');
        if (changed.word === 'not_found') return refuse('account_not_found');
        return { accountId: changed.accountId, note: id, wasThere: changed.word === 'unchanged' };
      },
    };
  },
});

export const dropNote = accountChange({
  verb: 'drop-note',
  words: ['note'],
  operationId: 'dropNoteOfAccount',
  title: 'Remove the note',
  role: 'support',
  summary: 'Removes a note from an account.',
  description: 'The ids are in `notes` of the account. The log keeps the id, and not the text.',
  fields: {
    note: z
      .string()
      .regex(/^[\w-]{12}$/, 'Must be the id of a note')
      .meta({ example: 'Zk3vQ0bXv5nY' }),
  },
  reply: z.object({ accountId: AccountId, wasThere: z.boolean() }),
  body: { note: 'Zk3vQ0bXv5nY', reason: 'a name in it, ticket 4711' },
  shown: ({ accountId, wasThere }) => [wasThere ? `The note of ${accountId} is removed.` : `${accountId} has no such note.`],
  async plan({ accountId }, { note: id }, services) {
    const [written = ''] = await read(services.scripts, 'HGET', notesKey(accountId), id);
    const held = noteText.parse(written);
    if (held === undefined) return { reply: { accountId, wasThere: false } };
    return {
      question: `Remove the note of ${held.by} from the account ${accountId}? “${held.text}”`,
      what: { note: id },
      async act() {
        const changed = await changeNote(accountId, id, '', services);
        if (changed.word === 'deleted') return refuse('account_deleted');
        return { accountId: changed.accountId, wasThere: changed.word === 'changed' };
      },
    };
  },
});

const isFull = () => invalid('text', `Cannot be added: the account has ${MOST_NOTES} notes, so remove one first`);

/** @param text '' removes the note */
function changeNote(account: string, id: string, text: string, { scripts }: OperatorServices) {
  return runWhereItIs(account, scripts, (owner) =>
    scripts.run(
      changeScript,
      { account: accountKey(owner), standing: standingKey(owner), notes: notesKey(owner) },
      { id, text, most: MOST_NOTES },
    ),
  );
}
