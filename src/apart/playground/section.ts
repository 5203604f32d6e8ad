import { html, type Html } from '../../web/html.ts';

/** The HTML of the playground in its initial state. The modules in browser/ add the behaviour. */
export function section({ sandbox }: { readonly sandbox: boolean }): Html {
  return html`<section class="block" id="playground" aria-busy="true" aria-labelledby="playground-title">
    <div>
      <h2 id="playground-title">Playground</h2>
      <p class="lead">
        ${sandbox ? 'Seven' : 'Six'} real flows, no login, no build. Each button sends a real request, and beside it stands the same request
        as curl, with the answer. Your players live in this browser only. Open a flow by its name.
      </p>
      <p><button type="button" class="small" id="restart">Start over with new players</button></p>
      <noscript><p class="card">The playground needs JavaScript.</p></noscript>
    </div>
    <ol class="steps">
      ${step('coins', 'Coins that count once', coins(sandbox))} ${step('board', 'A board that reorders', board)}
      ${step('saves', 'A game on two devices', saves)} ${step('room', 'A room on two screens', room, 'Requests and live messages')}
      ${step('pairing', 'Sign in with a phone', pairing)} ${sandbox ? step('sign-ins', 'One person, several sign-ins', signIns) : ''}
      ${step('access', 'Trial, purchase, entitlement', access(sandbox))}
    </ol>
  </section>`;
}

/** The two parts of a step: the text about it, and its buttons. */
interface Demo {
  readonly about: Html;
  readonly demo: Html;
}

function step(id: string, title: string, { about, demo }: Demo, wire = 'Requests'): Html {
  // The browser opens the step for an address that names the section inside, and closes the others.
  return html`<li class="step">
    <details name="step" ${id === 'coins' ? html` open` : ''}>
      <summary><h3 id="${id}-title">${title}</h3></summary>
      <section id="${id}" aria-labelledby="${id}-title">
        <p class="about lead">${about}</p>
        <div class="card">${demo}</div>
        <div class="wire code">
          <h4 id="${id}-wire-title">${wire}<span class="hidden"> of “${title}”</span></h4>
          <div class="log" id="${id}-wire" tabindex="0" role="group" aria-labelledby="${id}-wire-title">
            <p class="empty">Press a button. Its request appears here as curl, with the answer.</p>
          </div>
        </div>
      </section>
    </details>
  </li>`;
}

const said = (id: string, text: string): Html => html`<p class="said" id="${id}-said" role="status">${text}</p>`;

/** The list of stores in which a step buys. */
const stores = (id: string): Html =>
  html`<label
    >Store<select id="${id}-store">
      <option value="google">Google Play</option>
      <option value="apple">App Store</option>
    </select></label
  >`;

const coins = (sandbox: boolean): Demo => ({
  about: html`Every operation has an idempotency key. Send the same one again, as a phone does after a lost answer: the first answer comes
  back, and nothing moves.
  ${sandbox ? 'Or buy coins in the sandbox, spend them, and have the store refund them: you then owe the coins that you spent.' : ''}`,
  demo: html`<div class="row">
      <span class="coin large" aria-hidden="true"></span>
      <p>
        <span class="label" id="coins-label">Balance</span><output class="big" id="coins-balance" aria-labelledby="coins-label">0</output>
      </p>
    </div>
    <div class="row">
      <button type="button" class="primary" id="coins-earn">Earn 25</button
      ><button type="button" id="coins-spend" aria-disabled="true">Spend 10</button
      ><button type="button" id="coins-replay" aria-disabled="true">Replay the last key</button>
    </div>
    ${
      sandbox
        ? html`<div class="row">
            ${stores('coins')}<button type="button" id="coins-buy">Buy a pouch</button
            ><button type="button" id="coins-refund" aria-disabled="true">Have it refunded</button>
          </div>`
        : ''
    }
    ${said('coins', 'The first press makes a guest account.')}
    <div class="scroll" tabindex="0" role="group" aria-label="History of the account">
      <table>
        <caption>
          History
        </caption>
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col" class="number">Coins</th>
            <th scope="col" class="number">Balance</th>
            <th scope="col">Key</th>
          </tr>
        </thead>
        <tbody id="coins-history">
          <tr class="none">
            <td colspan="4">Nothing yet</td>
          </tr>
        </tbody>
      </table>
    </div>`,
});

const board: Demo = {
  about: html`Each player keeps the best score. Ties share a rank, and the earlier one is listed first. The reply of a submission holds the
  new top ten.`,
  demo: html`<form class="halves" id="board-form">
      <label
        >Game<select id="board-game">
          <option>…</option>
        </select></label
      >
      <label
        >Player<select id="board-player">
          <option value="ada">Ada</option>
          <option value="bob">Bob</option>
          <option value="cleo">Cleo</option>
        </select></label
      >
      <label>Name on the board<input id="board-name" value="Ada" maxlength="60" autocomplete="off" spellcheck="false" /></label>
      <label>Score<input id="board-score" type="number" value="120" step="any" required /></label>
      <button type="submit" class="primary">Submit the score</button>
    </form>
    ${said('board', 'Three players share this browser. Submit a score for each.')}
    <ol class="lines ranks" id="board-top" aria-label="Top ten">
      <li class="none">No scores yet</li>
    </ol>`,
};

const saver = (device: string): Html =>
  html`<section class="pane stack" aria-labelledby="saves-${device}-name">
    <h4 id="saves-${device}-name">Ada’s ${device}</h4>
    <p>
      <span class="label" id="saves-${device}-label">Levels won</span
      ><output id="saves-${device}" aria-labelledby="saves-${device}-label">none</output>
    </p>
    <div class="row">
      <button type="button" class="${device === 'phone' ? 'primary' : ''}" id="saves-${device}-play">Win a level</button
      ><label class="row"><input type="checkbox" id="saves-${device}-offline" />Offline</label>
    </div>
  </section>`;

const saves: Demo = {
  about: html`Each device saves what its game keeps, with the version on which it is based. Take one offline, win levels on both, and bring
  it back: the service refuses the stale save, and the game merges both.`,
  demo: html`<div class="grid panes">${saver('phone')}${saver('laptop')}</div>
    ${said('saves', 'One player, two devices. Each keeps its save while it is offline.')}`,
};

const STEPS = [
  ['left', '←'],
  ['up', '↑'],
  ['down', '↓'],
  ['right', '→'],
] as const;

const pane = (id: string, name: string): Html =>
  html`<section class="pane stack" aria-labelledby="${id}-name" data-pane="${id}">
    <header class="row">
      <h4 id="${id}-name">${name}<span>’s screen</span></h4>
      <span class="chip" data-part="link"></span>
    </header>
    <div class="stage" data-part="stage">
      <span data-part="code" class="code-letters">–––––</span><span data-part="phase">no room yet</span>
    </div>
    <ul class="row seats" data-part="seats" aria-label="Players on ${name}’s screen"></ul>
    <div class="row" data-part="outside">
      <button type="button" class="${id === 'ada' ? 'primary' : ''}" data-act="create">Open a room</button>
      <form class="row" data-part="join">
        <label
          ><span class="hidden">Code of the room, for ${name}</span
          ><input data-part="typed" size="6" maxlength="60" placeholder="Code" autocomplete="off" spellcheck="false" /></label
        ><button type="submit">Join</button>
      </form>
    </div>
    <div class="row" data-part="inside" hidden>
      <button type="button" data-act="ready">Ready</button><button type="button" data-act="start">Start</button
      ><button type="button" data-act="end">End</button><button type="button" data-act="leave">Leave</button
      ><button type="button" data-act="drop" aria-disabled="true">Drop the connection</button>
    </div>
    <p class="said" data-part="said" role="status"></p>
    <div class="play" data-part="play" hidden>
      <ul class="walk" data-part="board" aria-label="Where the players stand on ${name}’s screen"></ul>
      <fieldset class="row">
        <legend>${name} walks</legend>
        ${STEPS.map(([step, sign]) => html`<button type="button" data-step="${step}" aria-label="${name} walks ${step}">${sign}</button>`)}
      </fieldset>
      <form class="row" data-part="message">
        <label
          ><span class="hidden">Message of ${name}</span
          ><input data-part="text" maxlength="120" placeholder="Message" autocomplete="off" /></label
        ><button type="submit">Send</button>
      </form>
      <p class="said" data-part="heard" role="status"></p>
    </div>
    <fieldset class="row" data-part="colours" hidden>
      <legend>Paint both screens</legend>
      ${['amber', 'coral', 'mint', 'sky', 'plum'].map((colour) => html`<button type="button" class="small swatch ${colour}" data-colour="${colour}">${colour}</button>`)}
    </fieldset>
  </section>`;

const room: Demo = {
  about: html`Each screen plays in the room over one WebSocket: an action goes out as an <code>act</code>, and its change comes to both
    screens as a <code>patch</code>. The host writes the state, and each player its own data. Drop a connection, move on both screens, and
    see. The rooms are public: open this page in another window, and join from the list.`,
  demo: html`<div class="grid panes">${pane('ada', 'Ada')}${pane('bob', 'Bob')}</div>
    <h4 id="room-open-title">Open rooms, of other windows too</h4>
    <ul class="stack open-rooms" id="room-open" tabindex="-1" aria-labelledby="room-open-title"></ul>`,
};

const pairing: Demo = {
  about: html`A website shows a QR code, a phone claims it, and the website is signed in that moment. A photo of the code gives nobody a
  session. No phone at hand? Open the link in a second tab.`,
  demo: html`<div class="pairing">
      <div class="qr" id="pairing-qr"><p>The code appears here</p></div>
      <div class="stack">
        <p><span class="label">Match code</span><strong class="big" id="pairing-match">– –</strong></p>
        <p class="left" id="pairing-left">Valid for three minutes</p>
        <div class="row">
          <button type="button" class="primary" id="pairing-open">Show a QR code</button
          ><a class="button" id="pairing-link" target="_blank" rel="noopener" aria-disabled="true" role="link">Open the link in a tab</a>
        </div>
        <p class="hint" id="pairing-reach"></p>
      </div>
    </div>
    ${said('pairing', 'This box is a website that nobody is signed in to.')}`,
};

const signIns: Demo = {
  about: html`Sign in with Google, add Apple, and both open the same account. If Apple has an account of its own, the service says what it
  holds, and merges it once you say yes: each coin once. The sandbox stands in for both providers.`,
  demo: html`<div class="row">
      <p>
        <span class="label" id="sign-ins-label">Balance</span
        ><output class="big" id="sign-ins-balance" aria-labelledby="sign-ins-label">–</output>
      </p>
    </div>
    <div class="row">
      <button type="button" class="primary" id="sign-ins-google">Sign in with Google</button
      ><button type="button" id="sign-ins-apple">Sign in with Apple</button>
    </div>
    <div class="row">
      <button type="button" id="sign-ins-add-google" aria-disabled="true">Add Google</button
      ><button type="button" id="sign-ins-add-apple" aria-disabled="true">Add Apple</button
      ><button type="button" id="sign-ins-merge" aria-disabled="true">Merge the accounts</button
      ><button type="button" id="sign-ins-earn" aria-disabled="true">Earn coins</button>
    </div>
    ${said('sign-ins', 'One person with an account at both providers. Nobody is signed in yet.')}
    <ul class="lines sign-ins" id="sign-ins-list" tabindex="-1" aria-label="Sign-ins of the account">
      <li class="none">Nobody is signed in</li>
    </ul>`,
};

const STATES = ['none', 'trial', 'subscribed', 'expired'] as const;

const access = (sandbox: boolean): Demo => ({
  about: html`One answer says what a player may use now, from trial and subscription.
  ${
    sandbox
      ? 'The sandbox stands in for the app store: buy for nothing, refund, and watch the entitlement follow.'
      : 'Purchases can be tried where STORE=sandbox.'
  }`,
  demo: html`<ol class="track" id="access-track" aria-label="State of the entitlement">
      ${STATES.map((state) => html`<li data-state="${state}">${state}</li>`)}
    </ol>
    <div class="row">
      <button type="button" class="primary" id="access-trial">Start the trial</button>${
        sandbox
          ? html`${stores('access')}<button type="button" id="access-buy">Buy premium</button
              ><button type="button" id="access-refund" aria-disabled="true">Refund it</button>`
          : ''
      }<button type="button" id="access-look">Ask again</button>
    </div>
    ${said('access', 'A new player has neither a trial nor a subscription.')}
    <dl class="facts" id="access-facts">
      <div>
        <dt>State</dt>
        <dd>–</dd>
      </div>
      <div>
        <dt>Access</dt>
        <dd>–</dd>
      </div>
      <div>
        <dt>Until</dt>
        <dd>–</dd>
      </div>
    </dl>`,
});
