import { statSync } from 'node:fs';
import { secretFilesIn } from '../../config.ts';
import type { Diagnosis } from './diagnosis.ts';
import { quoted } from './shell.ts';

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

/**
 * Examines the permissions of the files with secrets that settings name. That the group may read a file is usual: the service's user gets
 * secrets of containers that way.
 */
export function examineSecretFiles(environment: Record<string, string | undefined>, diagnosis: Diagnosis): void {
  for (const { setting, path } of secretFilesIn(environment)) {
    // There is already a finding for a file that cannot be read.
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    const modeText = (mode & 0o777).toString(8).padStart(3, '0');
    const mend = `chmod o-rwx ${quoted(path)} # and a new secret if somebody may have ${(mode & OTHERS_WRITE) === 0 ? 'read' : 'changed'} it`;
    if ((mode & OTHERS_WRITE) !== 0)
      diagnosis.find('danger', 'writable_secret', {
        text: `Every user of this machine may change the file of ${setting}, ${path} (mode ${modeText}).`,
        cost: 'They can replace the secret by one that they know.',
        mend,
      });
    else if ((mode & OTHERS_READ) !== 0)
      diagnosis.find('warning', 'open_secret', {
        text: `Every user of this machine may read the file of ${setting}, ${path} (mode ${modeText}).`,
        cost: 'Who reads it has the secret: with session keys anybody can sign in as any user.',
        mend,
      });
  }
}
