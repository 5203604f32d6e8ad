import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSessionKeys, SettingError, type Config, type SessionKey } from '../config.ts';

/**
 * The keys that sign cookies and session tokens. They come from the setting SESSION_KEYS. Without it the first start makes a key and keeps
 * it in DATA_DIR. In production `readConfig` requires the setting.
 * @throws SettingError if the file in DATA_DIR has no valid keys
 */
export function loadSessionKeys(config: Config): SessionKey[] {
  if (config.SESSION_KEYS !== undefined) return config.SESSION_KEYS;
  const file = join(config.DATA_DIR, 'session-keys');
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `dev:${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  try {
    // link() fails if the file exists, so two services that start at the same time agree on one key, and neither reads a half-written file.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  try {
    return parseSessionKeys(readFileSync(file, 'utf8').trim());
  } catch {
    throw new SettingError(
      `DATA_DIR holds a session-keys file that cannot be read: ${file}. Remove it to get a new key, which signs all users out, or set SESSION_KEYS.`,
    );
  }
}
