import { runCommand, type EndedCommand } from '../run-command.ts';

/** Runs the command of `npm run audit` with only these settings. */
export const runAuditCommand = (flags: string[], settings: Record<string, string>): Promise<EndedCommand> =>
  runCommand('audit.ts', flags, settings);
