// Posts the winners of each season to a channel of Discord: COINOP_URL=… COINOP_KEY=… DISCORD_WEBHOOK=… node season-winners.mjs
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const { COINOP_URL = 'http://127.0.0.1:3000', COINOP_KEY, DISCORD_WEBHOOK, CURSOR_FILE = 'season-winners.cursor' } = process.env;
const headers = { authorization: `Bearer ${COINOP_KEY}` };

for (let cursor = existsSync(CURSOR_FILE) ? readFileSync(CURSOR_FILE, 'utf8') : ''; ; ) {
  try {
    const after = cursor === '' ? '' : `&after=${cursor}`;
    const reply = await fetch(`${COINOP_URL}/v1/events?types=board.season_ended&wait=25${after}`, { headers });
    if (!reply.ok) throw new Error(`coinop answered ${reply.status}`);
    const page = await reply.json();
    for (const { data } of page.events) {
      const { top } = await (await fetch(`${COINOP_URL}/v1/highscores/${data.game}?season=${data.season}`)).json();
      const winners = top.slice(0, 3).map(({ rank, name, score }) => `${rank}. ${name}: ${score}`);
      const content = `**${data.game}, season ${data.season}** (${data.entries} players)\n${winners.join('\n')}`;
      // Players choose their names, so a name must not mention anybody.
      const body = JSON.stringify({ content, allowed_mentions: { parse: [] } });
      const sent = await fetch(DISCORD_WEBHOOK, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      if (!sent.ok) throw new Error(`Discord answered ${sent.status}`);
    }
    writeFileSync(CURSOR_FILE, (cursor = page.cursor));
  } catch (error) {
    console.error(error.message);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
