using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;

namespace Coinop {
    /// <summary>What requests are made of, and what their answers and failures mean.</summary>
    static class Requests {
        /// <summary>The most milliseconds of one try. The service answers within 2 s; after a longer silence a new connection may help.</summary>
        internal const double TryMs = 5000;

        /// <summary>The error codes after which the service may have carried out the request.</summary>
        static readonly string[] Unclear = { "network", "timeout", "internal" };

        /// <summary>The other error codes after which the same request may succeed later.</summary>
        static readonly string[] Refused = { "rate_limited", "overloaded", "store_unavailable", "app_store_unavailable" };

        internal static bool IsUnclear(Json error) => Has(Unclear, error["code"].Text) || error.Has("outcome");

        internal static bool IsTemporary(Json error) => Has(Unclear, error["code"].Text) || Has(Refused, error["code"].Text);

        internal static bool Has(string[] words, string word) => Array.IndexOf(words, word) >= 0;

        internal static bool IsOk(Json reply) => reply["ok"].Bool;

        internal static string CodeOf(Json reply) => reply["error"]["code"].Text;

        internal static Json Failure(string code, string message = null) {
            return new Json { { "ok", false }, { "error", new Json { { "code", code }, { "message", message ?? code } } } };
        }

        internal static Json Failure(Json error) => new Json { { "ok", false }, { "error", error } };

        /// <summary>The failure of a call that was stopped: `aborted` by one of the tokens, or else `timeout`.</summary>
        internal static Json StoppedBy(params CancellationToken[] stops) => Failure(IsAborted(stops) ? "aborted" : "timeout");

        internal static bool IsAborted(params CancellationToken[] stops) => Array.Exists(stops, stop => stop.IsCancellationRequested);

        /// <summary>The value as a part of an address.</summary>
        internal static string Component(Json value) {
            // Half of a surrogate pair has no UTF-8.
            return Uri.EscapeDataString(Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(value.Text ?? value.ToString())));
        }

        internal static string Query(IEnumerable<KeyValuePair<string, Json>> fields) {
            var parts = new List<string>();
            foreach (var field in fields)
                if (!field.Value.IsNull) parts.Add(Component(field.Key) + "=" + Component(field.Value));
            return parts.Count == 0 ? "" : "?" + string.Join("&", parts.ToArray());
        }

        /// <summary>
        /// Milliseconds before the next try: exponential backoff with full jitter, after the time for which the service asked, a minute at most.
        /// </summary>
        internal static double Backoff(int tries, Json error, double mostMs = 5000) {
            return Math.Min(error["retryAfterMs"].Double, 60000) + Randoms.Share() * Math.Min(mostMs, 300 * Math.Pow(2, Math.Min(tries, 30)));
        }

        /// <summary>The result of an answer. Only the form of the service's answers counts: a proxy or another server may have answered.</summary>
        internal static Json ReplyOf(Answer answer) {
            var status = answer.Status;
            var body = Json.Read(answer.Text) ?? Json.Null;
            var isOurs = body["ok"].Kind == JsonKind.Bool && IsOk(body) == (status == 200);
            if (isOurs && IsOk(body)) return body;
            if (isOurs && !string.IsNullOrEmpty(CodeOf(body))) body = body.With("status", status);
            else body = Failure(status >= 500 || status == 429 ? "network" : "not_coinop", "Status " + status.ToString(CultureInfo.InvariantCulture));
            var isAsked = double.TryParse(answer.RetryAfter, NumberStyles.Float, CultureInfo.InvariantCulture, out var seconds);
            if (!isAsked || !(seconds > 0 && seconds < 1e9) || body["error"].Has("retryAfterMs")) return body;
            return body.With("error", body["error"].With("retryAfterMs", (long)Math.Round(seconds * 1000)));
        }
    }

    /// <summary>What a single call may be given: the milliseconds of the call with its repetitions, and what aborts it.</summary>
    public sealed class CallOptions {
        public double? TimeoutMs;
        public CancellationToken Stop;
    }
}
