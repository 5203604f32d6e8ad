using System;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>
    /// The caller: the stored install and its session. An owner names who made an operation: `i` and an installId, `a` and an account id, or `s`
    /// and the token of a session whose account is not known yet. Credentials are the headers that name the caller.
    /// </summary>
    sealed class Identity {
        const double HourMs = 3600000;

        /// <summary>
        /// How often the client asks about the session, which lives 30 days, and whose token the service renews after half of that.
        /// </summary>
        const double AskMs = 24 * HourMs;

        readonly Client client;
        readonly string key;
        readonly string given;
        double asked = -HourMs;

        /// <summary>The caller as this client last read or wrote it, because somebody may empty the store meanwhile.</summary>
        Json known;

        internal Identity(Client client, string given) {
            this.client = client;
            this.given = given;
            key = client.Name + ":me";
        }

        internal static Json ByToken(string token) => new Json { { "authorization", "Bearer " + token } };

        internal static Json ByInstall(string installId) => new Json { { "x-install-id", installId } };

        /// <summary>The stored caller, or a new install.</summary>
        internal Json Load() {
            var me = client.Storage.Load(key);
            var install = me["installId"].Text;
            if (install != null && (given == null || install == given)) return known = me;
            if (known != null && !client.Storage.Unread.Contains(key)) client.Warn("coinop: the store was emptied");
            return Save(known ?? new Json { { "installId", given ?? Randoms.Text() } });
        }

        Json Save(Json me) {
            known = new Json();
            foreach (var member in me)
                if (!member.Value.IsNull) known.Add(member.Key, member.Value);
            client.Storage.Put(key, known.ToString());
            return known;
        }

        async Task Renew(string token) {
            asked = client.Loop.Now;
            var reply = await client.Repeat(Calls.Routes["sessions.current"], new Json(), null, () => ByToken(token));
            var me = Load();
            // The result is dropped if another sign-in or sign-out came in the meantime.
            if (!reply.Has("accountId") || me["sessionToken"].Text != token) return;
            var moved = me["moved"].Without();
            if (!me.Has("accountId")) moved.Add("s" + token, reply["accountId"]);
            me = me.With("accountId", reply["accountId"]).With("sessionToken", reply["sessionToken"].Text ?? token);
            Save(me.With("askedAt", client.Loop.Clock.Wall()).With("moved", moved));
        }

        internal Json Install() => ByInstall(Load()["installId"].Text);

        /// <summary>The credential of the caller.</summary>
        internal Json Credential() {
            var me = Load();
            var token = me["sessionToken"].Text;
            if (string.IsNullOrEmpty(token)) return ByInstall(me["installId"].Text);
            // By two clocks: if that of the device jumps, in either direction, that costs one more request and no delay.
            if (Math.Abs(client.Loop.Clock.Wall() - me["askedAt"].Double) > AskMs && client.Loop.Now - asked >= HourMs) {
                client.Loop.Spawn(() => Renew(token));
                asked = client.Loop.Now;
            }
            return ByToken(token);
        }

        internal string Owner() {
            var me = Load();
            if (!me.Has("sessionToken") || me["isOwn"].Bool) return "i" + me["installId"].Text;
            return me.Has("accountId") ? "a" + me["accountId"].Text : "s" + me["sessionToken"].Text;
        }

        /// <summary>The credential for an operation of this owner. Null: it can only be sent after a sign-in.</summary>
        internal Json CredentialOf(string owner) {
            var me = Load();
            var into = me["moved"][owner].Text ?? (owner[0] == 'a' ? owner.Substring(1) : null);
            if (into == null) return owner[0] == 's' ? ByToken(owner.Substring(1)) : ByInstall(owner.Substring(1));
            return me.Has("sessionToken") && me["accountId"].Text == into ? ByToken(me["sessionToken"].Text) : null;
        }

        /// <summary>Keeps the session of a sign-in. `movedFrom`: the owner whose guest moved into the account by it, or null.</summary>
        internal async Task SignedIn(Json reply, bool isOwn, string movedFrom) {
            var me = Load();
            var account = reply["accountId"];
            var moved = me["moved"].Without();
            if (movedFrom != null) moved.Add(movedFrom, account);
            var session = new Json { { "installId", me["installId"] }, { "sessionToken", reply["sessionToken"] }, { "accountId", account } };
            session.Add("askedAt", account.IsNull ? Json.Null : client.Loop.Clock.Wall());
            Save(session.With("isOwn", isOwn).With("moved", moved));
            if (account.IsNull) await Renew(reply["sessionToken"].Text);
        }

        /// <summary>
        /// Forgets the session. An install whose account moved or was deleted gives no access any more: the client makes a new one.
        /// </summary>
        internal void SignedOut(bool isDeleted) {
            var me = Load();
            var isOver = isDeleted || me["moved"].Has("i" + me["installId"].Text);
            Save(new Json { { "installId", isOver && given == null ? Randoms.Text() : me["installId"] }, { "moved", me["moved"] } });
        }
    }
}
