// What the client uses of Unity, in place of Unity itself, which cannot be had here: the same names and types as in Unity 2021.3, so that the
// files of src/clients/csharp/Runtime/Unity are compiled. Requests are sent for real, so that the conformance run plays them too.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Http;
using System.Threading;

namespace UnityEngine {
    public class Object {
        public static void DontDestroyOnLoad(Object target) { }
    }

    public class Component : Object {
        public GameObject gameObject { get; internal set; }
    }

    public class Behaviour : Component { }

    public class MonoBehaviour : Behaviour { }

    public sealed class GameObject : Object {
        public GameObject(string name) { }

        public T AddComponent<T>() where T : Component {
            var made = Activator.CreateInstance<T>();
            made.gameObject = this;
            return made;
        }
    }

    public static class Application {
        public static string persistentDataPath => Path.GetTempPath();
    }

    public static class Debug {
        public static void Log(object message) => Console.WriteLine(message);

        public static void LogWarning(object message) => Console.Error.WriteLine(message);

        public static void LogException(Exception exception) => Console.Error.WriteLine(exception);
    }

    public class AsyncOperation {
        internal Action<AsyncOperation> Completed;

        public event Action<AsyncOperation> completed {
            add { Completed += value; }
            remove { Completed -= value; }
        }
    }
}

namespace UnityEngine.Networking {
    public class DownloadHandler {
        internal bool Take(byte[] data, int dataLength) => ReceiveData(data, dataLength);

        protected virtual bool ReceiveData(byte[] data, int dataLength) => true;
    }

    public class DownloadHandlerScript : DownloadHandler { }

    public class UploadHandler {
        public string contentType { get; set; }
    }

    public sealed class UploadHandlerRaw : UploadHandler {
        internal readonly byte[] Data;

        public UploadHandlerRaw(byte[] data) {
            Data = data;
        }
    }

    public class UnityWebRequestAsyncOperation : AsyncOperation { }

    /// <summary>As Unity's: it must be used on the thread that sends it, and a status of failure is a ProtocolError.</summary>
    public class UnityWebRequest : IDisposable {
        public enum Result { InProgress, Success, ConnectionError, ProtocolError, DataProcessingError }

        static readonly HttpClient Http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false });
        readonly string url;
        readonly string method;
        readonly Dictionary<string, string> headers = new Dictionary<string, string>();
        readonly CancellationTokenSource stop = new CancellationTokenSource();
        readonly int thread = Thread.CurrentThread.ManagedThreadId;
        string retryAfter;

        public UnityWebRequest(string url, string method) {
            this.url = url;
            this.method = method;
        }

        public DownloadHandler downloadHandler { get; set; }
        public UploadHandler uploadHandler { get; set; }
        public int redirectLimit { get; set; }
        public long responseCode { get; private set; }
        public string error { get; private set; }
        public Result result { get; private set; }

        public void SetRequestHeader(string name, string value) => headers[name] = value;

        public string GetResponseHeader(string name) => name == "Retry-After" ? retryAfter : null;

        public UnityWebRequestAsyncOperation SendWebRequest() {
            var operation = new UnityWebRequestAsyncOperation();
            Send(operation);
            return operation;
        }

        async void Send(UnityWebRequestAsyncOperation operation) {
            try {
                var request = new HttpRequestMessage(new HttpMethod(method), url);
                request.Headers.ConnectionClose = true;
                if (uploadHandler != null) {
                    request.Content = new ByteArrayContent(((UploadHandlerRaw)uploadHandler).Data);
                    request.Content.Headers.TryAddWithoutValidation("content-type", uploadHandler.contentType);
                }
                foreach (var header in headers) request.Headers.TryAddWithoutValidation(header.Key, header.Value);
                var response = await Http.SendAsync(request, stop.Token);
                IEnumerable<string> found;
                if (response.Headers.TryGetValues("Retry-After", out found)) retryAfter = string.Join(",", found);
                var body = await response.Content.ReadAsByteArrayAsync();
                responseCode = (long)response.StatusCode;
                var length = response.Content.Headers.ContentLength;
                if (length.HasValue && body.Length < length.Value) throw new IOException("The answer broke off.");
                result = !downloadHandler.Take(body, body.Length) ? Result.DataProcessingError : responseCode < 300 ? Result.Success : Result.ProtocolError;
            } catch (Exception failure) {
                result = Result.ConnectionError;
                error = failure.Message;
            }
            operation.Completed?.Invoke(operation);
        }

        public void Abort() {
            if (Thread.CurrentThread.ManagedThreadId != thread) throw new InvalidOperationException("Abort on the main thread.");
            stop.Cancel();
        }

        public void Dispose() => stop.Dispose();
    }
}
