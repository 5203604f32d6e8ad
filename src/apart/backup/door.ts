export { restoreBackup } from './put-back.ts';
export { takeBackup } from './take.ts';
