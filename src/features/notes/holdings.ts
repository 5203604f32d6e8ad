import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { readHash } from '../../redis/reads.ts';
import { notesKey, noteText } from './model.ts';

const Note = z.object({ id: z.string(), at: z.iso.datetime(), by: z.string(), reason: z.string(), text: z.string() }).meta({ id: 'Note' });

/**
 * What operators noted on an account, for other operators. The owner's export leaves notes out, as it leaves out the reasons of
 * corrections.
 */
export const noteHolding = {
  name: 'notes',
  keys: [
    {
      name: 'notes',
      type: 'hash',
      life: 'lasts',
      counted: 'accounts with notes',
      texts: { what: 'hash of notes', isRight: (text) => noteText.parse(text) !== undefined },
      whenMoved: 'joins',
      whenDeleted: 'goes',
    },
  ],
  shown: {
    shape: { notes: z.array(Note).meta({ description: 'Newest first.' }) },
    async show({ accountId }, { scripts }) {
      const notes = (await readHash(scripts, notesKey(accountId))).flatMap(([id, written]) => {
        const note = noteText.parse(written);
        return note === undefined ? [] : [{ id, ...note }];
      });
      return { notes: notes.toSorted((one, other) => other.at - one.at).map((note) => ({ ...note, at: new Date(note.at).toISOString() })) };
    },
  },
} satisfies Holding;
