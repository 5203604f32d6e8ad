// Loads all events into SQLite, and follows new ones: COINOP_URL=… COINOP_KEY=… node events-to-sqlite.mjs events.db
import { DatabaseSync } from 'node:sqlite';

const { COINOP_URL = 'http://127.0.0.1:3000', COINOP_KEY } = process.env;
const db = new DatabaseSync(process.argv[2] ?? 'events.db');
db.exec(`CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT, at TEXT, account TEXT, number INTEGER, data TEXT);
  CREATE TABLE IF NOT EXISTS place (cursor TEXT)`);
const insert = db.prepare('INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?)');
const forget = db.prepare("UPDATE events SET data = '{}' WHERE account = ?");

for (let cursor = db.prepare('SELECT cursor FROM place').get()?.cursor; ; ) {
  const query = new URLSearchParams({ limit: '1000', wait: '25', ...(cursor === undefined ? {} : { after: cursor }) });
  const reply = await fetch(`${COINOP_URL}/v1/events?${query}`, { headers: { authorization: `Bearer ${COINOP_KEY}` } }).catch(() => undefined);
  if (reply?.status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    continue;
  }
  const page = await reply.json();
  // One transaction for the events and the cursor: a crash neither repeats nor loses an event.
  db.exec('BEGIN');
  for (const { id, type, at, accountId = null, number = null, data } of page.events) {
    insert.run(id, type, at, accountId, number, JSON.stringify(data));
    if (type === 'account.deleted') forget.run(accountId);
  }
  db.exec('DELETE FROM place');
  db.prepare('INSERT INTO place VALUES (?)').run((cursor = page.cursor));
  db.exec('COMMIT');
}
