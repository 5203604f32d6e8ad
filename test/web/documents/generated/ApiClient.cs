// Stands in for the generated ApiClient.cs, which needs RestSharp and Polly: no registry that this proof may ask has them. The generated
// operations, models and the rest of the generated client compile and run with it. Json.NET is Debian's.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Org.OpenAPITools.Client
{
    public class ApiClient : ISynchronousClient, IAsynchronousClient
    {
        static readonly HttpClient http = new HttpClient();
        static readonly JsonSerializerSettings json = new JsonSerializerSettings
        {
            // Generated models hide their constructors without arguments.
            ConstructorHandling = ConstructorHandling.AllowNonPublicDefaultConstructor,
        };
        readonly string basePath;

        public ApiClient(string basePath)
        {
            this.basePath = basePath;
        }

        async Task<ApiResponse<T>> Send<T>(string method, string path, RequestOptions options, CancellationToken cancelled)
        {
            foreach (var pair in options.PathParameters) path = path.Replace("{" + pair.Key + "}", Uri.EscapeDataString(pair.Value));
            var query = options.QueryParameters.SelectMany(pair => pair.Value.Select(value => pair.Key + "=" + Uri.EscapeDataString(value)));
            var request = new HttpRequestMessage(new System.Net.Http.HttpMethod(method), basePath + path + "?" + string.Join("&", query));
            if (options.Data != null)
                request.Content = new StringContent(JsonConvert.SerializeObject(options.Data, json), Encoding.UTF8, "application/json");
            foreach (var pair in options.HeaderParameters.Where(pair => pair.Key != "Content-Type")) request.Headers.Add(pair.Key, pair.Value);
            var response = await http.SendAsync(request, cancelled);
            var text = await response.Content.ReadAsStringAsync();
            var body = response.IsSuccessStatusCode ? JsonConvert.DeserializeObject<T>(text, json) : default(T);
            return new ApiResponse<T>(response.StatusCode, new Multimap<string, string>(), body, text);
        }

        public ApiResponse<T> Get<T>(string path, RequestOptions options, IReadableConfiguration configuration = null)
        {
            return GetAsync<T>(path, options, configuration).Result;
        }

        public ApiResponse<T> Post<T>(string path, RequestOptions options, IReadableConfiguration configuration = null)
        {
            return PostAsync<T>(path, options, configuration).Result;
        }

        public Task<ApiResponse<T>> GetAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken))
        {
            return Send<T>("GET", path, options, cancelled);
        }

        public Task<ApiResponse<T>> PostAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken))
        {
            return Send<T>("POST", path, options, cancelled);
        }

        // The service has no operations with other methods.
        public ApiResponse<T> Put<T>(string path, RequestOptions options, IReadableConfiguration configuration = null) { throw new NotSupportedException(); }
        public ApiResponse<T> Delete<T>(string path, RequestOptions options, IReadableConfiguration configuration = null) { throw new NotSupportedException(); }
        public ApiResponse<T> Head<T>(string path, RequestOptions options, IReadableConfiguration configuration = null) { throw new NotSupportedException(); }
        public ApiResponse<T> Options<T>(string path, RequestOptions options, IReadableConfiguration configuration = null) { throw new NotSupportedException(); }
        public ApiResponse<T> Patch<T>(string path, RequestOptions options, IReadableConfiguration configuration = null) { throw new NotSupportedException(); }
        public Task<ApiResponse<T>> PutAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken)) { throw new NotSupportedException(); }
        public Task<ApiResponse<T>> DeleteAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken)) { throw new NotSupportedException(); }
        public Task<ApiResponse<T>> HeadAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken)) { throw new NotSupportedException(); }
        public Task<ApiResponse<T>> OptionsAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken)) { throw new NotSupportedException(); }
        public Task<ApiResponse<T>> PatchAsync<T>(string path, RequestOptions options, IReadableConfiguration configuration = null, CancellationToken cancelled = default(CancellationToken)) { throw new NotSupportedException(); }
    }
}
