// A website that shows "Signed in" as soon as an app has claimed its pairing: COINOP_URL=… COINOP_KEY=… PORT=… node signed-in.mjs
import { createServer } from 'node:http';
const { COINOP_URL = 'http://127.0.0.1:3000', COINOP_KEY, PORT = '8080' } = process.env;
const waiting = new Map();
const show = ({ url, pairingId, matchCode }) => `<!doctype html><p id="state">Open <a href="${url}">${url}</a>: ${matchCode}</p><script>
  new EventSource('/claimed/${pairingId}').onmessage = ({ data }) => { document.getElementById('state').textContent = 'Signed in: ' + data; };
</script>`;

createServer(async (request, response) => {
  const [, pairingId] = /^\/claimed\/([0-9a-f]{22})$/.exec(request.url) ?? [];
  if (pairingId !== undefined) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).flushHeaders();
    waiting.set(pairingId, (accountId) => response.write(`data: ${accountId}\n\n`));
    return response.on('close', () => waiting.delete(pairingId));
  }
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"session":"token"}' };
  const pairing = await (await fetch(`${COINOP_URL}/v1/pair/new`, json)).json();
  response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' }).end(show(pairing));
}).listen(Number(PORT), '127.0.0.1', () => console.log('ready'));

for (let cursor = ''; ; ) {
  const path = `/v1/events?types=pairing.claimed&wait=25${cursor === '' ? '' : `&after=${cursor}`}`;
  const reply = await fetch(COINOP_URL + path, { headers: { authorization: `Bearer ${COINOP_KEY}` } }).catch(() => undefined);
  const page = reply?.ok === true ? await reply.json() : { events: [], cursor };
  if (reply?.ok !== true) await new Promise((resolve) => setTimeout(resolve, 1000));
  for (const { accountId, data } of page.events) waiting.get(data.pairingId)?.(accountId);
  cursor = page.cursor;
}
