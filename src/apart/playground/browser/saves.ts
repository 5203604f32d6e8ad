import type { Client } from '/client.js';
import { savesOf, type Saves } from '/saves.js';
import { byId, leadTo, onPress, sayProblem } from '../../../web/browser/dom.ts';
import { explain } from '../../../web/browser/problems.ts';
import { player } from './players.ts';
import { wireOf } from './wire.ts';

/** The save of the game: the number of levels that were won on each device. */
type Progress = Readonly<Record<string, number>>;

const SLOT = { game: 'playground', name: 'slot-1' } as const;
const DEVICES = ['phone', 'laptop'] as const;

/** The step about saves: one player with two devices, each of which can be offline. */
export function showSaves(): void {
  const [wire, said] = [wireOf('saves'), byId('saves-said')];
  const first = player('saver-phone', wire);

  for (const device of DEVICES) {
    const [levels, offline] = [byId(`saves-${device}`), byId<HTMLInputElement>(`saves-${device}-offline`)];
    let progress: Progress = {};
    const show = (data: Progress): void => {
      progress = data;
      levels.textContent = DEVICES.map((each) => `${data[each] ?? 0} on the ${each}`).join(', ');
    };
    let saves: Saves<Progress> | undefined;
    /** The saves open only at the first press, because a page that nobody uses should send no request. */
    const opened = async (): Promise<Saves<Progress>> => {
      saves ??= savesOf<Progress>(await open(device, offline, first), {
        device: `Ada’s ${device}`,
        onConflict(mine, theirs) {
          said.textContent = `A conflict: the ${device} merged its save with version ${theirs.version}.`;
          return Object.fromEntries(DEVICES.map((each) => [each, Math.max(mine.data[each] ?? 0, theirs.data[each] ?? 0)]));
        },
      });
      const loaded = await saves.load(SLOT);
      if (loaded.ok) show(loaded.data);
      return saves;
    };
    onPress(byId(`saves-${device}-play`), async () => {
      const mine = saves ?? (await opened());
      show({ ...progress, [device]: (progress[device] ?? 0) + 1 });
      said.textContent = '';
      const saved = await mine.save({ ...SLOT, data: progress });
      if (saved.data) show(saved.data);
      // The next press should be on the other device.
      leadTo(byId(`saves-${device === 'phone' ? 'laptop' : 'phone'}-play`), byId('saves'));
      if (!saved.ok && !saved.pending) return sayProblem(said, explain(saved.error));
      const more = saved.ok ? `Saved as version ${saved.version}.` : 'Kept on this device until it is online.';
      said.textContent = `${said.textContent} ${more}`.trim();
    });
    offline.addEventListener('change', () => void (saves && opened()));
  }

  /** The client of a device. Both devices use the install of the first device. */
  async function open(device: string, offline: HTMLInputElement, ofPlayer: Client): Promise<Client> {
    const { installId } = await ofPlayer.who();
    const fetch: typeof wire.fetch = (url, init) => (offline.checked ? Promise.reject(new TypeError('offline')) : wire.fetch(url, init));
    return player(`saver-${device}`, { ...wire, fetch }, { installId });
  }
}
