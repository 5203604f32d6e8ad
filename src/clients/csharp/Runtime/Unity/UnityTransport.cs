using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine.Networking;

namespace Coinop.Unity {
    /// <summary>UnityWebRequest for requests. WebSockets are those of .NET, and in a browser the browser's own.</summary>
    public sealed class UnityTransport : ITransport {
        readonly Dispatcher dispatcher;
#if !UNITY_WEBGL || UNITY_EDITOR
        readonly NetTransport net = new NetTransport();
#endif

        public UnityTransport(Dispatcher dispatcher) {
            this.dispatcher = dispatcher;
        }

        /// <summary>Collects an answer of bounded length.</summary>
        sealed class Collected : DownloadHandlerScript {
            readonly MemoryStream read = new MemoryStream();

            internal string Text => Encoding.UTF8.GetString(read.ToArray());

            protected override bool ReceiveData(byte[] data, int dataLength) {
                // False ends the request.
                if (data == null || read.Length + dataLength > Json.MostLength) return false;
                read.Write(data, 0, dataLength);
                return true;
            }
        }

        public async Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop) {
            var collected = new Collected();
            using (var request = new UnityWebRequest(url, method)) {
                request.downloadHandler = collected;
                request.redirectLimit = 0;
                if (body != null) request.uploadHandler = new UploadHandlerRaw(Encoding.UTF8.GetBytes(body)) { contentType = "application/json" };
                foreach (var header in headers) request.SetRequestHeader(header.Key, header.Value);
                var done = new TaskCompletionSource<bool>();
                var isOver = false;
                request.SendWebRequest().completed += operation => done.TrySetResult(true);
                // Another thread may stop the call, but only the main thread may abort the request.
                Action abort = () => {
                    if (!isOver) request.Abort();
                };
                using (stop.Register(() => dispatcher.Post(abort))) await done.Task;
                isOver = true;
                // An answer of any status is an answer. A redirect is one too, although Unity counts it as a failure.
                var isAnswer = request.result == UnityWebRequest.Result.Success || request.result == UnityWebRequest.Result.ProtocolError;
                if (!isAnswer && (request.responseCode < 300 || request.responseCode >= 400)) throw new IOException(request.error);
                return new Answer { Status = (int)request.responseCode, Text = collected.Text, RetryAfter = request.GetResponseHeader("Retry-After") };
            }
        }

        public Task<ISocket> Connect(string url, CancellationToken stop) {
#if UNITY_WEBGL && !UNITY_EDITOR
            return BrowserSocket.Open(dispatcher, url, stop);
#else
            return net.Connect(url, stop);
#endif
        }
    }
}
