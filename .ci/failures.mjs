// Prints what a suite's JSON report says: "PASSED FAILED", a line of the files that failed, and a line for each failed test: file › test,
// the first line of its error, and its place in the file.
// A test file that does not load, or an error outside of a test, fails the run but is no failed test. Without a report no test ran.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** The most lines, so that the end of a long output still has them all. */
const MOST_LINES = 30;
const MOST_CHARACTERS = 300;

const [path, code] = process.argv.slice(2);

function reportOf() {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The first line of an error, and the line of the file from which it came. */
function errorOf(message = '', file = '') {
  // oxlint-disable-next-line no-control-regex
  const text = message.replaceAll(/\u001b\[[\d;]*m/g, '').trim();
  const at = text.match(new RegExp(`${RegExp.escape?.(file) ?? file.replaceAll(/\W/g, '\\$&')}:(\\d+)`))?.[1];
  return `${text.split('\n')[0].slice(0, MOST_CHARACTERS)}${at === undefined ? '' : ` (line ${at})`}`;
}

function linesOf({ testResults }) {
  return testResults
    .filter(({ status }) => status !== 'passed')
    .flatMap(({ name, message, assertionResults }) => {
      const file = relative('.', name);
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      if (tests.length === 0) return [`${file}: ${errorOf(message, file)}`];
      return tests.map((test) => `${[file, ...test.ancestorTitles, test.title].join(' › ')}: ${errorOf(test.failureMessages[0], file)}`);
    });
}

const report = reportOf();
const isFine = code === '0' && report?.success === true;
const lines = report === undefined ? ['no test ran: set-up, type check or lint failed'] : linesOf(report);
if (!isFine && lines.length === 0) lines.push('an error outside of the tests, see above');
// The tests of test/closing check what all other files have noted. They cannot be repeated with a few of them.
const files = (report?.testResults ?? [])
  .filter(({ status, name }) => status !== 'passed' && !relative('.', name).startsWith('test/closing/'))
  .map(({ name }) => relative('.', name));
console.log(`${report?.numPassedTests ?? 0} ${report?.numFailedTests || (isFine ? 0 : 1)}`);
console.log([...new Set(files)].join(' '));
for (const line of lines.slice(0, MOST_LINES)) console.log(`  ${line}`);
if (lines.length > MOST_LINES) console.log(`  and ${lines.length - MOST_LINES} more`);
