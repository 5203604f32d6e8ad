using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>How requests are sent and sockets are opened. An engine, or a test, gives its own.</summary>
    public interface ITransport {
        /// <summary>
        /// Sends one request, and follows no redirect: another server would get the installId. A <c>body</c> of null is a GET. Throws whatever
        /// goes wrong on the way. <c>stop</c> closes the connection.
        /// </summary>
        Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop);

        /// <summary>Opens a WebSocket. Throws if it cannot be opened.</summary>
        Task<ISocket> Connect(string url, CancellationToken stop);
    }

    /// <summary>An open WebSocket.</summary>
    public interface ISocket {
        /// <summary>Sends a text, after those before it. Does nothing once the socket has ended.</summary>
        void Send(string text);

        /// <summary>The next text, or null at the end.</summary>
        Task<string> Receive();

        /// <summary>The close code, once <c>Receive</c> has given null. 1006: the connection broke.</summary>
        int CloseCode { get; }

        void Close();
    }

    public sealed class Answer {
        public int Status;
        public string Text;

        /// <summary>The header Retry-After, or null.</summary>
        public string RetryAfter;
    }

    /// <summary>
    /// HttpClient and ClientWebSocket of .NET: for .NET, Godot .NET, and Unity everywhere but in a browser. Each request has a connection of
    /// its own: a request on one that the other side has just closed would be sent twice, or lost.
    /// </summary>
    public sealed class NetTransport : ITransport {
        const int MostMessageBytes = 1 << 20;
        static readonly HttpClient Http =
            new HttpClient(new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false }) { Timeout = Timeout.InfiniteTimeSpan };

        public async Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop) {
            using (var request = new HttpRequestMessage(new HttpMethod(method), url)) {
                request.Headers.ConnectionClose = true;
                request.Headers.ExpectContinue = false;
                if (body != null) {
                    request.Content = new ByteArrayContent(Encoding.UTF8.GetBytes(body));
                    request.Content.Headers.TryAddWithoutValidation("content-type", "application/json");
                }
                foreach (var header in headers) request.Headers.TryAddWithoutValidation(header.Key, header.Value);
                // A service point without this has two connections a host.
                ServicePointManager.FindServicePoint(request.RequestUri).ConnectionLimit = 64;
                using (var response = await Http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, stop).ConfigureAwait(false))
                using (stop.Register(response.Dispose)) {
                    var text = await Body(response, stop).ConfigureAwait(false);
                    IEnumerable<string> found;
                    var retryAfter = response.Headers.TryGetValues("Retry-After", out found) ? string.Join(",", found) : null;
                    return new Answer { Status = (int)response.StatusCode, Text = text, RetryAfter = retryAfter };
                }
            }
        }

        static async Task<string> Body(HttpResponseMessage response, CancellationToken stop) {
            var read = new MemoryStream();
            var part = new byte[16384];
            using (var stream = await response.Content.ReadAsStreamAsync().ConfigureAwait(false)) {
                for (int size; (size = await stream.ReadAsync(part, 0, part.Length, stop).ConfigureAwait(false)) > 0;) {
                    if (read.Length + size > Json.MostLength) throw new IOException("The answer is too long.");
                    read.Write(part, 0, size);
                }
            }
            var expected = response.Content.Headers.ContentLength;
            if (expected.HasValue && read.Length < expected.Value) throw new IOException("The answer broke off.");
            return Encoding.UTF8.GetString(read.ToArray());
        }

        public async Task<ISocket> Connect(string url, CancellationToken stop) {
            var socket = new ClientWebSocket();
            try {
                await socket.ConnectAsync(new Uri(url), stop).ConfigureAwait(false);
                return new Socket(socket);
            } catch (Exception) {
                socket.Dispose();
                throw;
            }
        }

        sealed class Socket : ISocket {
            readonly ClientWebSocket socket;
            readonly object gate = new object();
            readonly byte[] part = new byte[16384];
            readonly TaskCompletionSource<WebSocketReceiveResult> closed = new TaskCompletionSource<WebSocketReceiveResult>();
            Task sent = Task.FromResult(true);
            bool isClosed;

            internal Socket(ClientWebSocket socket) {
                this.socket = socket;
            }

            public int CloseCode { get; private set; } = 1006;

            /// <summary>Does something with the socket after all that was begun before: it sends one message at a time.</summary>
            void After(Func<Task> use) {
                lock (gate) sent = Following(sent, use);
            }

            async Task Following(Task before, Func<Task> use) {
                await before.ConfigureAwait(false);
                try {
                    await use().ConfigureAwait(false);
                } catch (Exception) {
                    socket.Abort();
                }
            }

            public void Send(string text) {
                if (isClosed) return;
                var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(text));
                After(() => socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None));
            }

            public void Close() {
                if (isClosed) return;
                isClosed = true;
                closed.TrySetResult(null);
                After(() => socket.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, "", CancellationToken.None));
                End(sent);
            }

            /// <summary>Ends the connection once all is sent, and soon: a network that has failed takes nothing any more.</summary>
            async void End(Task all) {
                await Task.WhenAny(all, Task.Delay(500)).ConfigureAwait(false);
                socket.Abort();
                socket.Dispose();
            }

            public async Task<string> Receive() {
                var message = new MemoryStream();
                try {
                    while (!isClosed) {
                        var next = socket.ReceiveAsync(new ArraySegment<byte>(part), CancellationToken.None);
                        var got = await (await Task.WhenAny(next, closed.Task).ConfigureAwait(false)).ConfigureAwait(false);
                        if (got == null) break;
                        if (got.MessageType == WebSocketMessageType.Close) {
                            CloseCode = got.CloseStatus.HasValue ? (int)got.CloseStatus.Value : 1005;
                            break;
                        }
                        if (got.MessageType != WebSocketMessageType.Text || message.Length + got.Count > MostMessageBytes) break;
                        message.Write(part, 0, got.Count);
                        if (got.EndOfMessage) return Encoding.UTF8.GetString(message.ToArray());
                    }
                } catch (Exception) {
                    // The connection broke.
                }
                Close();
                return null;
            }
        }
    }
}
