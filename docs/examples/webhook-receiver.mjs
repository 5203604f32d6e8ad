// Receives coinop's webhooks (docs/webhooks.md): npm install standardwebhooks, then
// COINOP_WEBHOOK_SECRET=whsec_… PORT=4000 node webhook-receiver.mjs
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.COINOP_WEBHOOK_SECRET);
const seen = new Set(); // Ids. In production: a table of your database, written in the same transaction as the event's effects

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  let event;
  try {
    event = webhook.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  if (!seen.has(event.id)) {
    seen.add(event.id);
    console.log(event.type, event.accountId, JSON.stringify(event.data));
  }
  response.writeHead(204).end();
}).listen(Number(process.env.PORT ?? 4000), '127.0.0.1');
