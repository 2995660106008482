/* A stand-in for libcuda.so.1: it knows nothing about device code and answers from a table that the test gives it.
 *
 * STANDIN_ANSWERS  file of lines "FNV1A64 AS_IS JIT_FORBIDDEN JIT_FORCED": what to answer for an image with that
 *                  digest: a CUDA error name, or crash, hang, fork-crash, poison (loads, then every call fails), taint (no
 *                  binary, and in a process that has loaded nothing before, every later load fails unnoticed)
 * STANDIN_INIT     number that cuInit answers
 * STANDIN_INIT_DOES  crash or hang, instead of answering; fork: leaves a process behind that holds what it inherits
 * STANDIN_CONTEXT  number that making a context answers
 * STANDIN_BUSY     a file that gets a byte for each context: the first STANDIN_BUSY_FOR of them are out of memory
 * STANDIN_DEVICES  "NAME|SM|UUID|SLICE UUID;..." (UUIDs as 32 hex digits); without it one H200
 * STANDIN_LOG      file: one line for each load
 * STANDIN_NOISE    printed to stdout by cuInit
 * STANDIN_NAMELESS cuGetErrorName fails, as in a toolkit's stub
 * STANDIN_SECONDS  "INIT CONTEXT AS_IS JIT_FORBIDDEN JIT_FORCED": how long cuInit, a context, and a load in each pass take
 * STANDIN_OTHERWISE  "AS_IS JIT_FORBIDDEN JIT_FORCED": what to answer for an image that is in no line
 *
 * What it shares with the real one: CUDA_VISIBLE_DEVICES that names nothing is error 100; the compute cache serves
 * a pass that forbids JIT unless CUDA_CACHE_DISABLE=1 (both measured, driver 580.159.04).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const struct { int code; const char *name; } NAMES[] = {
    {0, "CUDA_SUCCESS"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {34, "CUDA_ERROR_STUB_LIBRARY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {218, "CUDA_ERROR_INVALID_PTX"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"}, {999, "CUDA_ERROR_UNKNOWN"},
};
struct device { char name[128]; int sm; unsigned char uuid[16], slice[16]; };
static struct device devices[8];
static int device_count, poisoned, tainted, loads;

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static void take_time(int which) {
    float seconds[5] = {0};
    sscanf(variable("STANDIN_SECONDS", ""), "%f %f %f %f %f", seconds, seconds + 1, seconds + 2, seconds + 3, seconds + 4);
    struct timespec span = {(time_t)seconds[which], (long)((seconds[which] - (float)(time_t)seconds[which]) * 1e9f)};
    if (seconds[which] > 0) nanosleep(&span, NULL);
}

static void unhex(unsigned char *out, const char *text) {
    for (int i = 0; i < 16; i++) {
        unsigned value = 0;
        sscanf(text + 2 * i, "%2x", &value);
        out[i] = (unsigned char)value;
    }
}

static void spelled(char *out, const char *kind, const unsigned char *uuid) {
    out += sprintf(out, "%s-", kind);
    for (int i = 0; i < 16; i++)
        out += sprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static int is_visible(int index, const struct device *device) {
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    if (!chosen) return 1;
    char gpu[64], slice[64], number[16], list[512];
    spelled(gpu, "GPU", device->uuid);
    spelled(slice, "MIG", device->slice);
    sprintf(number, "%d", index);
    snprintf(list, sizeof list, "%s", chosen);
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
        if (!strcmp(word, number) || !strncmp(word, gpu, strlen(word)) || !strcmp(word, slice)) return 1;
    return 0;
}

static void find_devices(void) {
    char list[1024];
    snprintf(list, sizeof list, "%s",
             variable("STANDIN_DEVICES",
                      "NVIDIA H200|90|00112233445566778899aabbccddeeff|00112233445566778899aabbccddeeff"));
    int index = 0;
    char *rest;
    for (char *row = strtok_r(list, ";", &rest); row && device_count < 8; row = strtok_r(NULL, ";", &rest), index++) {
        struct device *device = &devices[device_count];
        char uuid[40], slice[40];
        if (sscanf(row, "%127[^|]|%d|%32[^|]|%32s", device->name, &device->sm, uuid, slice) != 4) abort();
        unhex(device->uuid, uuid);
        unhex(device->slice, slice);
        device_count += is_visible(index, device);
    }
}

EXPORT int cuInit(unsigned flags) {
    (void)flags;
    const char *does = variable("STANDIN_INIT_DOES", "");
    if (!strcmp(does, "crash")) raise(SIGSEGV);
    if (!strcmp(does, "hang")) for (;;) pause();
    if (!strcmp(does, "fork") && fork() == 0) for (;;) pause();
    fputs(variable("STANDIN_NOISE", ""), stdout);
    fflush(stdout);
    take_time(0);
    int answer = atoi(variable("STANDIN_INIT", "0"));
    if (answer) return answer;
    find_devices();
    return device_count ? 0 : 100;
}

EXPORT int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
EXPORT int cuDeviceGetCount(int *count) { *count = device_count; return 0; }
EXPORT int cuDeviceGet(int *device, int index) { *device = index; return index < device_count ? 0 : 101; }
EXPORT int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "%s", devices[device].name);
    return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = 150754820096; return 0; }
EXPORT int cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == 75 ? devices[device].sm / 10 : devices[device].sm % 10;
    return 0;
}
EXPORT int cuDeviceGetUuid(unsigned char *out, int device) { memcpy(out, devices[device].uuid, 16); return 0; }
EXPORT int cuDeviceGetUuid_v2(unsigned char *out, int device) { memcpy(out, devices[device].slice, 16); return 0; }
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    take_time(1);
    *context = &devices;
    int busy = open(variable("STANDIN_BUSY", ""), O_RDWR | O_APPEND);
    if (busy >= 0) {
        long before = lseek(busy, 0, SEEK_END);
        if (write(busy, "x", 1) != 1) abort();
        close(busy);
        return before < atoi(variable("STANDIN_BUSY_FOR", "0")) ? 2 : 0;
    }
    return atoi(variable("STANDIN_CONTEXT", "0"));
}
EXPORT int cuCtxSetCurrent(void *context) { (void)context; return 0; }
EXPORT int cuCtxSynchronize(void) { return poisoned ? 700 : 0; }
EXPORT int cuModuleUnload(void *module) { (void)module; return 0; }

EXPORT int cuGetErrorName(int code, const char **name) {
    *name = NULL;
    if (getenv("STANDIN_NAMELESS")) return 34;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].code == code) *name = NAMES[i].name;
    return *name ? 0 : 1;
}

static uint64_t word(const unsigned char *at, int size) {
    uint64_t value = 0;
    memcpy(&value, at, (size_t)size);
    return value;
}

/* How long an image is: nobody tells the driver either. */
static size_t extent(const unsigned char *image) {
    if (word(image, 4) == 0xBA55ED50) return word(image + 6, 2) + word(image + 8, 8);
    if (memcmp(image, "\177ELF", 4)) return strlen((const char *)image);
    size_t sections = word(image + 40, 8), end = sections + word(image + 58, 2) * word(image + 60, 2);
    size_t segments = word(image + 32, 8) + word(image + 54, 2) * word(image + 56, 2);
    if (segments > end) end = segments;
    for (const unsigned char *row = image + sections; row < image + sections + 64 * word(image + 60, 2); row += 64)
        if (word(row + 4, 4) != 8 && word(row + 24, 8) + word(row + 32, 8) > end)
            end = word(row + 24, 8) + word(row + 32, 8);
    return end;
}

static uint64_t digest(const unsigned char *image, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ image[i]) * 0x100000001b3u;
    return hash;
}

static int pass(void) {
    if (!strcmp(variable("CUDA_FORCE_PTX_JIT", ""), "1")) return 2;
    int cached = strcmp(variable("CUDA_CACHE_DISABLE", ""), "1") != 0;
    return !strcmp(variable("CUDA_DISABLE_PTX_JIT", ""), "1") && !cached ? 1 : 0;
}

static void look_up(uint64_t hash, char *answer) {
    char line[512], found[3][64];
    unsigned long long key;
    strcpy(answer, "not in the table");
    if (sscanf(variable("STANDIN_OTHERWISE", ""), "%63s %63s %63s", found[0], found[1], found[2]) == 3)
        strcpy(answer, found[pass()]);
    FILE *table = fopen(variable("STANDIN_ANSWERS", "/dev/null"), "r");
    while (table && fgets(line, sizeof line, table))
        if (sscanf(line, "%llx %63s %63s %63s", &key, found[0], found[1], found[2]) == 4 && key == hash)
            strcpy(answer, found[pass()]);
    if (table) fclose(table);
}

static int act(const char *answer) {
    if (!strcmp(answer, "crash")) raise(SIGSEGV);
    if (!strcmp(answer, "hang")) for (;;) pause();
    if (!strcmp(answer, "fork-crash")) {
        if (fork() == 0) for (;;) pause();
        raise(SIGSEGV);
    }
    if (!strcmp(answer, "poison")) { poisoned = 1; return 0; }
    if (!strcmp(answer, "taint")) { tainted = !loads; return 209; }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!strcmp(NAMES[i].name, answer)) { loads += !i; return NAMES[i].code; }
    fprintf(stderr, "stand-in: %s\n", answer);
    abort();
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    (void)count; (void)options; (void)values;
    char answer[64], line[160];
    uint64_t hash = digest(image, extent(image));
    look_up(hash, answer);
    int log = open(variable("STANDIN_LOG", "/dev/null"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    int size = sprintf(line, "%d %d %016llx %s %s\n", (int)getpid(), pass(), (unsigned long long)hash, answer,
                       variable("CUDA_MODULE_LOADING", "-"));
    if (write(log, line, (size_t)size) != size) abort();
    close(log);
    if (poisoned || tainted) return 700;
    *module = &devices;
    take_time(2 + pass());
    return act(answer);
}

EXPORT int cuModuleLoadData(void **module, const void *image) {
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}
