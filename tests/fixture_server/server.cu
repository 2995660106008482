// A stand-in for llama-server that fails on demand. Never shipped: it exists to be rejected for the right reason.
//
// The command line is that of llama-server's main flags (-m, --host, --port, -ngl, -dev, -c, -np, their long forms and
// LLAMA_ARG_* variables; others are accepted and ignored). `--fail WORD`, or the words in FIXTURE_FAIL separated by
// commas, choose how it fails; FIXTURE_LOAD_SECONDS how long it loads. Failures of CUDA are not among the words: they are
// made by building for another GPU or by damaging the file, and are then the driver's own.
//
// Compiles with nvcc, or as plain C++ (-x c++) into a server without any CUDA.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#define WORDS                                                                                                          \
    "hang-load", "exit-load", "abort-load", "segv-load", "exit-token", "abort-token", "segv-token", "exit-after-token", \
        "non-json", "wrong-shape", "wrong-token", "zero-tokens", "two-tokens", "no-usage", "bad-finish", "error-token", \
        "slow", "drip", "drop", "hang-up", "router", "wrong-model", "rubbish-models", "no-health", "other-port",        \
        "chunked", "mute", "ignore-sigterm", "leave-child", "leave-daemon", "leave-socket", "unchecked-launch"

struct Options {
    std::string model, host = "127.0.0.1", device;
    int port = 8080, gpu_layers = -1;
    bool warmup = true;
    double load_seconds = 0.05;
    std::set<std::string> fail;
};

static Options options;
static std::string token, alias;
static std::atomic<bool> ready{false};
static bool on_gpu = false;

static bool fails(const char *word) { return options.fail.count(word) != 0; }

static void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

[[noreturn]] static void die(const std::string &message) {
    fprintf(stderr, "error: %s\n", message.c_str());
    exit(1);
}

// Each `word-when` of three ways to die.
static void die_if_told(const std::string &when) {
    if (fails(("exit-" + when).c_str())) die("told to exit at " + when);
    if (fails(("abort-" + when).c_str())) abort();
    if (fails(("segv-" + when).c_str())) raise(SIGSEGV);
}

// ---------------------------------------------------------------------------------------------------------------------
// What is computed: a text is scrambled on the host and unscrambled where the layers are, after a sum that must be right.

static const int COUNT = 1 << 16;
static const float SCALE = 3.0f;

#ifdef __CUDACC__
#define DEVICE_TOO __host__ __device__
#else
#define DEVICE_TOO
#endif

DEVICE_TOO static inline unsigned char key(int position, float sum) {
    return (unsigned char)(position * 131 + 17 + (int)(sum / COUNT));
}

static std::string scrambled(const std::string &text) {
    std::string out = text;
    for (size_t i = 0; i < out.size(); i++) out[i] = (char)(out[i] ^ key((int)i, SCALE * COUNT));
    return out;
}

#ifdef __CUDACC__
#include <cuda_runtime.h>

// ggml's own words, so that what reads ggml's log reads this.
#define CUDA_CHECK(call)                                                                                           \
    do {                                                                                                           \
        cudaError_t error_ = (call);                                                                               \
        if (error_ != cudaSuccess) {                                                                               \
            int device_ = -1;                                                                                      \
            (void)cudaGetDevice(&device_);                                                                         \
            fprintf(stderr, "CUDA error: %s\n  current device: %d, in function %s at %s:%d\n  %s\n",              \
                    cudaGetErrorString(error_), device_, __func__, __FILE__, __LINE__, #call);                     \
            abort();                                                                                               \
        }                                                                                                          \
    } while (0)

__global__ void scale_and_sum(const float *in, float scale, int count, float *sum) {
    __shared__ float part[256];
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += scale * in[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

__global__ void unscramble(char *text, int length, const float *sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length) text[i] = (char)(text[i] ^ key(i, *sum));
}

static void check_launch() {
    if (!fails("unchecked-launch")) CUDA_CHECK(cudaGetLastError());
}

static std::string computed_on_gpu(std::string text) {
    std::vector<float> ones(COUNT, 1.0f);
    float *in = nullptr, *sum = nullptr;
    char *out = nullptr;
    CUDA_CHECK(cudaMalloc(&in, COUNT * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&sum, sizeof(float)));
    CUDA_CHECK(cudaMalloc(&out, text.size()));
    CUDA_CHECK(cudaMemcpy(in, ones.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(sum, 0, sizeof(float)));
    CUDA_CHECK(cudaMemcpy(out, text.data(), text.size(), cudaMemcpyHostToDevice));
    scale_and_sum<<<64, 256>>>(in, SCALE, COUNT, sum);
    check_launch();
    unscramble<<<1, 64>>>(out, (int)text.size(), sum);
    check_launch();
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(&text[0], out, text.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(in));
    CUDA_CHECK(cudaFree(sum));
    CUDA_CHECK(cudaFree(out));
    return text;
}

static int gpu_count() {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        fprintf(stderr, "ggml_cuda_init: failed to initialize CUDA: %s\n", cudaGetErrorString(error));
        return 0;
    }
    fprintf(stderr, "ggml_cuda_init: found %d CUDA devices\n", count);
    return count;
}

// The model's bytes lie on the card while the server lives, and the log says so in llama-server's words.
static void hold_on_gpu(const std::string &model) {
    std::ifstream in(model, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    void *held = nullptr;
    CUDA_CHECK(cudaMalloc(&held, bytes.size()));
    CUDA_CHECK(cudaMemcpy(held, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    fprintf(stderr, "load_tensors: offloaded 3/3 layers to GPU\n");
    fprintf(stderr, "load_tensors:        CUDA0 model buffer size = %8.2f MiB\n", bytes.size() / 1048576.0);
}
#else
static std::string computed_on_gpu(std::string text) { return text; }
static void hold_on_gpu(const std::string &) {}
static int gpu_count() { return 0; }
#endif

static std::string computed(const std::string &text) {
    if (on_gpu) return computed_on_gpu(scrambled(text));
    std::vector<float> ones(COUNT, 1.0f);
    float sum = 0.0f;
    for (float one : ones) sum += SCALE * one;
    std::string out = scrambled(text);
    for (size_t i = 0; i < out.size(); i++) out[i] = (char)(out[i] ^ key((int)i, sum));
    return out;
}

// As llama-server: an unknown device is an error, no device at all means the CPU, silently.
static void choose_device() {
    if (options.device == "none" || options.gpu_layers == 0) return;
    int count = gpu_count();
    if (options.device.empty()) {
        on_gpu = count > 0;
        return;
    }
    int index = -1;
    if (sscanf(options.device.c_str(), "CUDA%d", &index) != 1 || index < 0 || index >= count)
        die("invalid device: " + options.device);
#ifdef __CUDACC__
    CUDA_CHECK(cudaSetDevice(index));
#endif
    on_gpu = true;
}

// ---------------------------------------------------------------------------------------------------------------------
// The GGUF header, as far as the key with the expected token (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)

template <typename T> static T take(std::istream &in) {
    T value{};
    if (!in.read((char *)&value, sizeof value)) die("the model ends in its header");
    return value;
}

static std::string take_string(std::istream &in) {
    uint64_t length = take<uint64_t>(in);
    if (length > 1 << 20) die("the model has an absurd string");
    std::string text(length, '\0');
    if (!in.read(&text[0], (std::streamsize)length)) die("the model ends in its header");
    return text;
}

static void skip_value(std::istream &in, uint32_t type) {
    static const int sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == 8) {
        take_string(in);
    } else if (type == 9) {
        uint32_t inner = take<uint32_t>(in);
        for (uint64_t left = take<uint64_t>(in); left > 0; left--) skip_value(in, inner);
    } else if (type < sizeof sizes / sizeof *sizes) {
        in.ignore(sizes[type]);
    } else {
        die("the model has a value of unknown type");
    }
}

static std::string expected_token(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) die("failed to open GGUF file '" + path + "'");
    if (take<uint32_t>(in) != 0x46554747) die("'" + path + "' is not a GGUF file");
    take<uint32_t>(in);
    take<uint64_t>(in);
    for (uint64_t left = take<uint64_t>(in); left > 0; left--) {
        std::string name = take_string(in);
        uint32_t type = take<uint32_t>(in);
        if (name == "cubingate.expected_token" && type == 8) return take_string(in);
        skip_value(in, type);
    }
    die("the model names no expected token");
}

static void load() {
    die_if_told("load");
    if (fails("hang-load"))
        for (;;) sleep_for(60);
    sleep_for(options.load_seconds);
    token = expected_token(options.model);
    alias = fails("wrong-model") ? "/models/another.gguf" : options.model;
    if (on_gpu) hold_on_gpu(options.model);
    if (options.warmup) computed(token);
    ready = true;
    fprintf(stderr, "main: server is listening on http://%s:%d\n", options.host.c_str(), options.port);
}

// ---------------------------------------------------------------------------------------------------------------------
// HTTP/1.1, one request to a connection

static std::string quoted(const std::string &text) {
    std::string out = "\"";
    char code[8];
    for (unsigned char c : text) {
        if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
            out += (char)c;
        } else {
            snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        }
    }
    return out + "\"";
}

static void send_all(int peer, const std::string &text) {
    for (size_t done = 0; done < text.size();) {
        ssize_t sent = send(peer, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent <= 0) return;
        done += (size_t)sent;
    }
}

static void answer(int peer, int status, const std::string &body, const char *type = "application/json") {
    std::ostringstream head;
    head << "HTTP/1.1 " << status << (status == 200 ? " OK" : " Error") << "\r\nContent-Type: " << type
         << "\r\nConnection: close\r\n";
    if (fails("chunked")) {  // no failure: a healthy server may cut its answers as it likes
        head << "Transfer-Encoding: chunked\r\n\r\n";
        for (char byte : body) head << "1\r\n" << byte << "\r\n";
        return send_all(peer, head.str() + "0\r\n\r\n");
    }
    head << "Content-Length: " << body.size() << "\r\n\r\n";
    send_all(peer, head.str() + body);
}

static std::string error_body(int code, const char *message, const char *type) {
    std::ostringstream body;
    body << "{\"error\":{\"code\":" << code << ",\"message\":\"" << message << "\",\"type\":\"" << type << "\"}}";
    return body.str();
}

static std::string completion(const std::string &content, const char *finish, int tokens, bool usage) {
    std::ostringstream body;
    body << "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":0,\"model\":" << quoted(alias)
         << ",\"choices\":[{\"index\":0,\"finish_reason\":\"" << finish
         << "\",\"message\":{\"role\":\"assistant\",\"content\":" << quoted(content) << "}}]";
    if (usage)
        body << ",\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":" << tokens << ",\"total_tokens\":" << 8 + tokens
             << "}";
    body << "}";
    return body.str();
}

static void drip(int peer) {
    send_all(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
    for (;;) {
        send_all(peer, " ");
        sleep_for(0.05);
    }
}

// It cannot compute log-probabilities: it answers with those it was built with, or the file named by FIXTURE_LOGPROBS.
static std::string told_log_probabilities() {
    const char *named = getenv("FIXTURE_LOGPROBS");
    if (!named) return
#include "logprobs.inc"
            ;
    std::ifstream in(named, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

static void complete(int peer, const std::string &request) {
    die_if_told("token");
    if (request.find("\"logprobs\":") != std::string::npos) {
        answer(peer, 200, told_log_probabilities());
        if (fails("exit-after-token")) exit(3);
        return;
    }
    if (fails("slow"))
        for (;;) sleep_for(60);
    if (fails("drip")) drip(peer);
    if (fails("drop")) return;
    if (fails("hang-up")) return send_all(peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\":");
    if (fails("error-token")) return answer(peer, 500, error_body(500, "compute error", "server_error"));
    if (fails("non-json")) return answer(peer, 200, "<html>welcome</html>", "text/html");
    if (fails("wrong-shape")) return answer(peer, 200, "{\"text\":\"ok\"}");
    std::string content = fails("wrong-token") ? computed("no") : fails("zero-tokens") ? "" : computed(token);
    int tokens = fails("zero-tokens") ? 0 : fails("two-tokens") ? 2 : 1;
    answer(peer, 200, completion(content, fails("bad-finish") ? "error" : "length", tokens, !fails("no-usage")));
}

static void respond(int peer, const std::string &request) {
    bool router = options.model.empty();
    if (fails("no-health") && request.find(" /health ") != std::string::npos) return answer(peer, 404, "{}");
    if (!ready && !router) return answer(peer, 503, error_body(503, "Loading model", "unavailable_error"));
    if (fails("mute") && request.find(" /health ") == std::string::npos)
        for (;;) sleep_for(60);
    std::string model = router ? "" : "{\"id\":" + quoted(alias) + ",\"object\":\"model\",\"owned_by\":\"fixture\"}";
    if (request.rfind("GET /health ", 0) == 0 || request.rfind("GET /v1/health ", 0) == 0)
        return answer(peer, 200, "{\"status\":\"ok\"}");
    if (request.rfind("GET /v1/models ", 0) == 0) {
        if (fails("rubbish-models")) return answer(peer, 200, "models: yes", "text/plain");
        return answer(peer, 200, "{\"object\":\"list\",\"data\":[" + model + "]}");
    }
    if (request.rfind("GET /props ", 0) == 0)
        return answer(peer, 200, router ? "{\"role\":\"router\"}" : "{\"model_path\":" + quoted(alias) + "}");
    if (request.rfind("POST /v1/chat/completions ", 0) == 0 && !router) return complete(peer, request);
    answer(peer, 404, error_body(404, "File Not Found", "not_found_error"));
}

static std::string request_from(int peer) {
    std::string request;
    char buffer[4096];
    size_t wanted = std::string::npos;
    while (request.size() < wanted && request.size() < 1 << 20) {
        ssize_t got = recv(peer, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, (size_t)got);
        size_t end = request.find("\r\n\r\n");
        if (end == std::string::npos || wanted != std::string::npos) continue;
        size_t length = request.find("ontent-"), at = std::string::npos;
        for (; length != std::string::npos && length < end; length = request.find("ontent-", length + 1))
            if (!strncasecmp(request.c_str() + length, "ontent-length:", 14)) at = length + 14;
        wanted = end + 4 + (at == std::string::npos ? 0 : strtoul(request.c_str() + at, nullptr, 10));
    }
    return request;
}

static int listener() {
    int server = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)(fails("other-port") ? 0 : options.port));
    if (inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) die("invalid host: " + options.host);
    if (bind(server, (sockaddr *)&address, sizeof address) || listen(server, 64))
        die("couldn't bind HTTP server socket, hostname: " + options.host + ", port: " + std::to_string(options.port));
    return server;
}

// ---------------------------------------------------------------------------------------------------------------------

static void leave_child(bool daemon) {
    if (fork() != 0) return;
    if (daemon) {
        setsid();
        if (fork() != 0) _exit(0);
    }
    signal(SIGTERM, SIG_DFL);
    for (;;) pause();
}

static void check_words() {
    const std::set<std::string> known = {WORDS};
    for (const std::string &word : options.fail)
        if (!known.count(word)) die("unknown way to fail: " + word);
}

static void add_words(const std::string &text) {
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) options.fail.insert(word);
}

static const char *variable(const char *name, const char *otherwise = "") {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static int number_of_layers(const std::string &text) {
    return text == "all" ? 999 : text == "auto" || text.empty() ? -1 : atoi(text.c_str());
}

static void read_variables() {
    options.model = variable("LLAMA_ARG_MODEL");
    options.host = variable("LLAMA_ARG_HOST", "127.0.0.1");
    options.port = atoi(variable("LLAMA_ARG_PORT", "8080"));
    options.device = variable("LLAMA_ARG_DEVICE");
    options.gpu_layers = number_of_layers(variable("LLAMA_ARG_N_GPU_LAYERS"));
    options.load_seconds = atof(variable("FIXTURE_LOAD_SECONDS", "0.05"));
    add_words(variable("FIXTURE_FAIL"));
}

static void read_arguments(int count, char **words) {
    const std::set<std::string> alone = {"--offline", "--no-webui", "--no-ui", "--metrics", "--props", "--verbose", "-v"};
    for (int i = 1; i < count; i++) {
        std::string flag = words[i];
        if (flag == "--no-warmup") options.warmup = false;
        if (flag == "--no-warmup" || alone.count(flag)) continue;
        if (flag.empty() || flag[0] != '-' || i + 1 >= count) die("invalid argument: " + flag);
        std::string value = words[++i];
        if (flag == "-m" || flag == "--model") options.model = value;
        else if (flag == "--host") options.host = value;
        else if (flag == "--port") options.port = atoi(value.c_str());
        else if (flag == "-ngl" || flag == "--gpu-layers" || flag == "--n-gpu-layers") options.gpu_layers = number_of_layers(value);
        else if (flag == "-dev" || flag == "--device") options.device = value;
        else if (flag == "--fail") add_words(value);
    }
}

static void obey(int) { _exit(0); }

int main(int count, char **words) {
    read_variables();
    read_arguments(count, words);
    check_words();
    signal(SIGTERM, fails("ignore-sigterm") ? SIG_IGN : obey);
    signal(SIGINT, obey);
    if (fails("router")) options.model.clear();
    choose_device();
    if (fails("leave-child")) leave_child(false);
    if (fails("leave-daemon")) leave_child(true);
    int server = listener();
    if (fails("leave-socket")) leave_child(false);
    if (!options.model.empty()) std::thread(load).detach();
    for (;;) {
        int peer = accept(server, nullptr, nullptr);
        if (peer < 0) continue;
        std::thread([peer] {
            respond(peer, request_from(peer));
            close(peer);
        }).detach();
    }
}
