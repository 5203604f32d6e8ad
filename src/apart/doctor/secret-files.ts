import { statSync } from 'node:fs';
import { secretFilesIn } from '../../config.ts';
import type { Diagnosis } from './diagnosis.ts';
import { quoted } from './shell.ts';

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

/**
 * Examines the permissions of the files with secrets whose paths settings name. If the group may read a file, that is no finding, because
 * containers give secrets to the service's user in this way.
 */
export function examineSecretFiles(environment: Record<string, string | undefined>, diagnosis: Diagnosis): void {
  for (const { setting, path } of secretFilesIn(environment)) {
    // A file that does not exist is left out, because the check of the settings reports it.
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    const modeText = (mode & 0o777).toString(8).padStart(3, '0');
    const mend = `chmod o-rwx ${quoted(path)} # and a new secret if somebody may have ${(mode & OTHERS_WRITE) === 0 ? 'read' : 'changed'} it`;
    if ((mode & OTHERS_WRITE) !== 0)
      diagnosis.find('danger', 'writable_secret', {
        text: `Every user of this machine may change the file of ${setting}, ${path} (mode ${modeText}).`,
        cost: 'Such a user can replace the secret by a secret of their own.',
        mend,
      });
    else if ((mode & OTHERS_READ) !== 0)
      diagnosis.find('warning', 'open_secret', {
        text: `Every user of this machine may read the file of ${setting}, ${path} (mode ${modeText}).`,
        cost: 'Anybody who reads the file has the secret. With session keys anybody can sign in as any user.',
        mend,
      });
  }
}
