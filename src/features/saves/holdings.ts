import { z } from 'zod';
import { standingKey } from '../../accounts/account-keys.ts';
import { dropHeldKey } from '../../accounts/held-keys.ts';
import type { Holding, HoldingServices } from '../../accounts/holdings.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { partsOf, readPart } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import { fieldOf, keysOf, Listed, listed, saveLibrary, savesIn, saveVersion, type Save, type SaveVersion } from './model.ts';
import { saveAuditor } from './save-auditor.ts';

/** Reads the text of a version. Answers text(JSON, or '' if the text was dropped after the version was read). */
const textScript = defineScript({
  name: 'saves/text',
  lua: `return {'text', text_of(texts, save, tonumber(version), tonumber(size_bytes)) or ''}`,
  keys: ['texts'],
  args: ['save', 'version', 'sizeBytes'],
  answers: ['text'],
  library: saveLibrary,
  readOnly: true,
});

const joinScript = defineScript({
  file: new URL('join-save.lua', import.meta.url),
  keys: ['saves', 'texts', 'standing'],
  args: ['guestId', 'game', 'name', 'lines', 'joinedTexts'],
  answers: ['joined', 'account_deleted'],
  library: [standingLibrary, saveLibrary],
  durable: true,
});

/** An operator sees at most this many saves with the account. */
const MOST_SHOWN = 50;

/**
 * An export's page is bounded by a number of reads, in which this many bytes of saves cost as much as one read. So a page has about 200
 * KiB.
 */
const BYTES_A_READ = 8 * 1024;

/** About the number of fields that one script reads, which is about three saves. */
const FIELDS_A_PART = 10;

/** A place that sorts after all others, because the names of games begin with letters and digits. */
const AFTER_ALL = '~';

const ExportedSave = Listed.omit({ sizeBytes: true }).extend({ game: z.string(), data: z.unknown() }).meta({ id: 'ExportedSave' });

const ShownSave = Listed.extend({ game: z.string(), versions: z.array(Listed.omit({ name: true })) });

/** What games keep of the player. */
export const saveHolding = {
  name: 'saves',
  keys: [
    { name: 'saves', type: 'hash', life: 'lasts', whenMoved: 'handed_over', whenDeleted: 'goes' },
    { name: 'saves:texts', type: 'hash', life: 'lasts', whenMoved: 'handed_over', whenDeleted: 'goes' },
  ],
  // Saves are written in the slot of their account, so no save arrives after the guest is frozen.
  async handOver({ guestId, accountId }, { scripts }) {
    const keys = { ...keysOf(accountId), standing: standingKey(accountId) };
    const saves: Save[] = [];
    for await (const { words } of partsOf(scripts, keysOf(guestId).saves, FIELDS_A_PART)) saves.push(...savesIn(words));
    for (const save of saves.toSorted((one, another) => (fieldOf(one) < fieldOf(another) ? -1 : 1))) {
      const { game, name, versions } = save;
      const joinedTexts = (await textsOf(guestId, save, scripts)).join('');
      const lines = versions.map((version) => saveVersion.write(version)).join('');
      await scripts.run(joinScript, keys, { guestId, game, name, lines, joinedTexts });
    }
    if (saves.length > 0) await scripts.run(joinScript, keys, { guestId, game: AFTER_ALL, name: '', lines: '', joinedTexts: '' });
    // If this process dies between the two deletions, the next call finds no save, and only deletes the texts.
    await dropHeldKey(guestId, 'saves', scripts);
    await dropHeldKey(guestId, 'saves:texts', scripts);
    return false;
  },
  exported: {
    shape: {
      saves: z
        .array(ExportedSave)
        .optional()
        .meta({ description: 'Saves of games, each with its last versions. A save may be listed twice.' }),
    },
    pages: {
      letter: 'v',
      firstPlace: '0',
      // Redis refuses a cursor beyond 64 bits.
      isPlace: (text) => /^\d{1,19}$/.test(text),
      async read({ accountId }, place, { scripts }) {
        const saves: z.input<typeof ExportedSave>[] = [];
        const { words, cursor } = await readPart(scripts, keysOf(accountId).saves, place, FIELDS_A_PART);
        let bytes = 0;
        for (const save of savesIn(words)) {
          const texts = await textsOf(accountId, save, scripts);
          for (const [index, version] of save.versions.entries()) {
            const { sizeBytes, ...shown } = listed(version);
            const text = texts[index]!;
            bytes += sizeBytes;
            if (text !== '') saves.push({ game: save.game, name: save.name, ...shown, data: JSON.parse(text) as unknown });
          }
        }
        return { lists: { saves }, next: cursor === '0' ? undefined : cursor, reads: 1 + bytes / BYTES_A_READ };
      },
    },
  },
  shown: {
    shape: { saves: z.array(ShownSave).meta({ description: `The first ${MOST_SHOWN} of its saves, by game, without their data.` }) },
    async show({ accountId }, { scripts }, parts) {
      const saves: Save[] = [];
      for await (const { words } of partsOf(scripts, keysOf(accountId).saves, FIELDS_A_PART))
        if (saves.push(...savesIn(words)) >= MOST_SHOWN) break;
      const shown = await parts.readEach(
        saves.slice(0, MOST_SHOWN),
        (save) => `save ${fieldOf(save)}`,
        ({ game, name, versions: [standing, ...older] }) => ({ game, name, ...listed(standing), versions: older.map(listed) }),
      );
      return { saves: shown.toSorted((one, another) => (fieldOf(one) < fieldOf(another) ? -1 : 1)) };
    },
  },
  auditors: () => [saveAuditor],
} satisfies Holding;

async function textsOf(accountId: string, save: Save, scripts: HoldingServices['scripts']): Promise<string[]> {
  const { texts } = keysOf(accountId);
  const read = ({ version, sizeBytes }: SaveVersion) => scripts.run(textScript, { texts }, { save: fieldOf(save), version, sizeBytes });
  return (await Promise.all(save.versions.map(read))).map(([, text]) => text!);
}
