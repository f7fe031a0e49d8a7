/*
 * devices.c - `sutra devices`: lists the CUDA devices of this machine and the choice of --device auto, as text or JSON.
 * No devices is a valid result, not an error. With --calibrate, measures matching on the CPU and on each device, and
 * writes the calibration that --device auto uses (facts/calibration.h).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "cli/command.h"
#include "cli/job.h"
#include "context/context.h"
#include "facts/calibration.h"
#include "generate/match_table.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/json.h"

#define SECONDS_DEFAULT 60
#define OPS_MAX_DEFAULT 10000000
#define SIZES_MAX       16 /* 10^4, 2 * 10^4, 5 * 10^4 ... 10^9 */
#define ENGINES_MAX     (2 + CALIBRATION_GPUS_MAX)

/* An engine that is measured: the CPU's on one thread, on all threads, then each GPU's. */
struct measured_engine {
    struct sutra_context *context;
    struct engine engine;
    double load_ms; /* of a GPU: its very first round took longer by this, to load kernels */
};

struct measured_size {
    uint64_t n_ops;
    double ms[ENGINES_MAX], opening_ms[ENGINES_MAX]; /* of the fastest round; of a GPU that is to be opened */
};

struct devices_job {
    struct job job;
    bool json, calibrate;
    uint32_t seconds, most_ops;
    struct calibration calibration;
    char path[PATH_MAX]; /* of the calibration */
    char no_gpu[400];    /* why there is none */
    struct measured_engine engines[ENGINES_MAX];
    unsigned n_engines;
    struct measured_size sizes[SIZES_MAX];
    unsigned n_sizes, n_over_time, n_over_memory; /* measured; skipped */
};

static const struct option_row options[] = {
    {"calibrate", 'c', OPTION_FLAG, AT(devices_job, calibrate),
     .help = "measure matching by the CPU and by each GPU, and write the calibration that --device auto uses"},
    {"seconds", 's', OPTION_NUMBER, "N", AT(devices_job, seconds), .minimum = 1, .maximum = 86400,
     .help = "measure for about N seconds (default: 60)"},
    {"operators", 'n', OPTION_NUMBER, "N", AT(devices_job, most_ops), .minimum = CALIBRATED_OPS_MIN,
     .maximum = 1000000000, .help = "measure tables of up to N operators, for example 1M (default: 10M)"},
    {"json", 'j', OPTION_FLAG, AT(devices_job, json), .help = "print one JSON object"},
    JOB_ROW_THREADS,
    JOB_ROW_QUIET,
    {0},
};

/* ---- List ---- */

static void print_device(uint32_t number, const struct sutra_device_info *device) {
    printf("%" PRIu32 "  %s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " multiprocessors, %s of memory",
           number, device->name, device->major, device->minor, device->n_processors, bytes_text(device->memory).text);
    if (*device->refused)
        printf("; unusable: %s\n", device->refused);
    else
        printf(", %s free\n", bytes_text(device->free_memory).text);
}

static void add_device(struct json_out *json, uint32_t number, const struct sutra_device_info *device) {
    json_open_line(json);
    json_add_count(json, "number", number);
    json_add_text(json, "name", device->name);
    json_add_format(json, "compute_capability", "\"%" PRIu32 ".%" PRIu32 "\"", device->major, device->minor);
    json_add_count(json, "multiprocessors", device->n_processors);
    json_add_count(json, "memory_bytes", device->memory);
    json_add_count(json, "free_memory_bytes", device->free_memory);
    json_add_text(json, "refused", device->refused);
    json_close_line(json);
}

/* A number of operators, or null. */
static void add_min_ops(struct json_out *json, const char *name, uint64_t n_ops) {
    if (n_ops == NEVER_FASTER)
        json_add_text(json, name, NULL);
    else
        json_add_count(json, name, n_ops);
}

static int list_devices(struct devices_job *devices) {
    struct sutra_error error = {.message = ""};
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    struct sutra_device_info first = {.size = sizeof first};
    uint32_t n = sutra_device_count(&error);
    if (devices->json) {
        json_open(&json, '{');
        json_add_open(&json, "devices", '[');
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sutra_device_info device = {.size = sizeof device};
        if (sutra_device_describe(i, &device, &error)) {
            buffer_free(&text.out);
            return message_error(&error);
        }
        if (i == 0)
            first = device;
        if (devices->json)
            add_device(&json, i, &device);
        else
            print_device(i, &device);
    }

    /* The choice of --device auto. */
    struct gpu_calibration gpu;
    struct calibration calibration;
    char why[400];
    const bool is_read = calibration_read(devices->job.options.n_threads, 0, &calibration, &gpu);
    const bool has_file = calibration_path(devices->path, sizeof devices->path) && access(devices->path, F_OK) == 0;
    bool cpu = true;
    if (n == 0)
        snprintf(why, sizeof why, "%s", error.message);
    else if (*first.refused)
        snprintf(why, sizeof why, "GPU 0 is unusable: %s", first.refused);
    else if (*gpu.why_cpu)
        snprintf(why, sizeof why, "%s", gpu.why_cpu);
    else if (!gpu_calibration_differs(&gpu, first.name, first.driver, why, sizeof why)) {
        cpu = false;
        if (gpu.min_ops == NEVER_FASTER)
            snprintf(why, sizeof why,
                     "link and link-legacy use GPU 0 only if it is open, from %s CPU operators on; other commands use "
                     "the CPU",
                     count_text(gpu.min_open_ops).text);
        else
            snprintf(why, sizeof why,
                     "link and link-legacy use GPU 0 from %s CPU operators on, if it is open from %s on; other "
                     "commands use the CPU",
                     count_text(gpu.min_ops).text, count_text(gpu.min_open_ops).text);
    }
    if (!devices->json) {
        printf(n == 0 ? "%s\n--device auto uses the CPU\n"
               : cpu  ? "--device auto uses the CPU: %s\n"
                      : "--device auto: %s\n",
               why);
        if (has_file)
            printf(is_read ? "calibration: %s of %s\n" : "calibration: %s is ignored: %s\n", devices->path,
                   is_read ? calibration.date : gpu.why_cpu);
        return SUTRA_OK;
    }
    json_close(&json, ']');
    json_name(&json, "auto");
    json_open_line(&json);
    add_min_ops(&json, "min_operators", cpu ? NEVER_FASTER : gpu.min_ops);
    add_min_ops(&json, "min_operators_open", cpu ? NEVER_FASTER : gpu.min_open_ops);
    json_add_text(&json, "why", why);
    json_add_text(&json, "calibration", has_file ? devices->path : NULL);
    json_add_text(&json, "calibration_date", is_read ? calibration.date : NULL);
    json_add_text(&json, "calibration_ignored", has_file && !is_read ? gpu.why_cpu : NULL);
    json_close_line(&json);
    json_close(&json, '}');
    return json_finish(&json);
}

/* ---- Calibration ---- */

/* Creates the directory of the file, so that an unwritable one is reported before anything is measured. */
static int prepare_file(struct devices_job *devices) {
    static const char remedy[] = "set XDG_CONFIG_HOME to a writable directory";
    char *path = devices->path;
    struct sutra_error error;
    if (!calibration_path(path, sizeof devices->path))
        return message_fail(SUTRA_NO_OUTPUT, "no directory for the calibration: %s", remedy);
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        enum sutra_status status = path_is_folder(path) ? SUTRA_OK : folder_create(path, &error);
        if (status)
            return message_fail(status, "%s: %s: %s", path, error.message, remedy);
        *end = '/';
    }
    if (sutra_output_check(path, &error))
        return message_fail(error.status, "%s: %s: %s", path, error.message, remedy);
    return SUTRA_OK;
}

static enum sutra_status add_engine(struct devices_job *devices, enum sutra_device device, uint32_t number,
                                    unsigned n_threads, struct sutra_error *error) {
    struct measured_engine *made = &devices->engines[devices->n_engines];
    const struct sutra_context_options wanted = {
        .size = sizeof wanted, .device = device, .device_number = number, .n_threads = n_threads};
    TRY(sutra_context_create(&wanted, &made->context, error));
    devices->n_engines++;
    made->engine = made->context->engine;
    if (device == SUTRA_DEVICE_CUDA) { /* wait until it is open */
        struct engine *cuda;
        TRY(context_device_acquire(made->context, &cuda, error));
        context_device_release(made->context);
    }
    return SUTRA_OK;
}

/* Opens each GPU; an unusable one is reported and skipped. The first call to the driver initializes it, which each
 * command pays. */
static void open_gpus(struct devices_job *devices) {
    struct calibration *calibration = &devices->calibration;
    struct sutra_error error = {.message = ""};
    double begin = clock_seconds();
    const uint32_t n = sutra_device_count(&error);
    const double driver_ms = (clock_seconds() - begin) * 1e3;
    snprintf(devices->no_gpu, sizeof devices->no_gpu, "%s", n ? "" : error.message);
    for (uint32_t i = 0; i < MIN(n, CALIBRATION_GPUS_MAX); i++) {
        const unsigned n_engines = devices->n_engines;
        struct sutra_device_info info = {.size = sizeof info};
        begin = clock_seconds();
        enum sutra_status status = add_engine(devices, SUTRA_DEVICE_CUDA, i, devices->job.options.n_threads, &error);
        const double open_ms = driver_ms + (clock_seconds() - begin) * 1e3;
        if (!status)
            status = sutra_device_describe(i, &info, &error);
        if (!status && !*info.refused) {
            struct calibrated_gpu *gpu = &calibration->gpus[calibration->n_gpus++];
            *gpu = (struct calibrated_gpu){.number = i, .cuda = info.driver, .open_ms = open_ms};
            calibration_copy_text(gpu->name, sizeof gpu->name, info.name);
            continue;
        }
        progress_clear(&devices->job.watch.progress);
        message_warn("GPU %" PRIu32 " is unusable: %s", i, status ? error.message : info.refused);
        if (devices->n_engines > n_engines)
            sutra_context_free(devices->engines[--devices->n_engines].context);
    }
    if (n && !calibration->n_gpus)
        snprintf(devices->no_gpu, sizeof devices->no_gpu, "no usable GPU");
}

/* Half of the memory that is available to this process. */
static uint64_t memory_for_tables(void) {
    char line[128];
    uint64_t bytes = memory_usable(), kib;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            bytes = MIN(bytes, kib * 1024);
    if (file)
        fclose(file);
    return bytes / 2;
}

/* Measures one size by all engines; the fastest round counts, without the first. */
static enum sutra_status measure_size(struct devices_job *devices, row_t n, struct sutra_error *error) {
    struct measured_size *size = &devices->sizes[devices->n_sizes];
    const unsigned n_rounds = n < 1000000 ? 6 : 3;
    struct match_table table;
    struct match_results expected = {.sorted = NULL}, got = {.sorted = NULL};
    enum sutra_status status = match_table_make_recorded(devices->engines[1].context->pool, n, &table, error);
    if (!status)
        status = match_results_make(&expected, n, error);
    *size = (struct measured_size){.n_ops = n};
    for (unsigned e = 0; e < devices->n_engines && !status; e++) {
        struct measured_engine *engine = &devices->engines[e];
        struct match_results *results = e == 0 ? &expected : &got;
        double first_ms = 0;
        if (e > 0) {
            arena_free(&got.arena);
            status = match_results_make(&got, n, error);
        }
        for (unsigned i = 0; i < n_rounds && !status; i++) {
            double seconds[N_MATCH_STEPS];
            status = match_measure(&engine->engine, &table, results, seconds, error);
            const double ms = seconds[MATCH_TOTAL] * 1e3;
            if (i == 0)
                first_ms = ms;
            else if (i == 1 || ms < size->ms[e])
                size->ms[e] = ms;
        }
        if (status)
            break;
        if (e >= 2) { /* the first round of this size allocates memory of the device */
            const struct calibrated_gpu *gpu = &devices->calibration.gpus[e - 2];
            first_ms = MAX(first_ms, size->ms[e]);
            if (devices->n_sizes == 0)
                engine->load_ms = first_ms - size->ms[e];
            size->opening_ms[e] = gpu->open_ms + first_ms + (devices->n_sizes ? engine->load_ms : 0);
        }
        if (e > 0 && match_results_differ(results, &expected, n)) {
            char name[32] = "the CPU on all threads";
            if (e >= 2)
                snprintf(name, sizeof name, "GPU %" PRIu32, devices->calibration.gpus[e - 2].number);
            status = error_set(error, SUTRA_INTERNAL,
                               "%s matches %" PRIu32
                               " operators differently from the CPU on one thread: nothing is written; "
                               "report this bug with the output of sutra devices",
                               name, n);
        }
    }
    arena_free(&expected.arena);
    arena_free(&got.arena);
    match_table_free(&table);
    devices->n_sizes += !status;
    return status;
}

/* Measures all sizes, ascending, within the limits of time and memory. Then finds the size from which each GPU is
 * faster. */
static enum sutra_status measure(struct devices_job *devices, struct sutra_error *error) {
    struct job *job = &devices->job;
    const uint64_t memory = memory_for_tables();
    const double limit = devices->seconds ? devices->seconds : SECONDS_DEFAULT;
    const uint32_t most = devices->most_ops ? devices->most_ops : OPS_MAX_DEFAULT;
    uint32_t sizes[SIZES_MAX];
    unsigned n = 0;
    uint64_t total = 0, done = 0;
    for (uint64_t power = CALIBRATED_OPS_MIN; power <= most; power *= 10)
        for (int i = 0; i < 3; i++) {
            const uint64_t size = power * (i == 0 ? 1 : i == 1 ? 2 : 5);
            if (size <= most) {
                sizes[n++] = (uint32_t)size;
                total += size;
            }
        }

    double seconds = 0; /* of the last size */
    for (unsigned i = 0; i < n; i++) {
        const double begin = clock_seconds();
        if (match_memory(sizes[i]) > memory) {
            devices->n_over_memory++;
            continue;
        }
        if (i > 0 && begin - job->begin + seconds * sizes[i] / sizes[i - 1] > limit) {
            devices->n_over_time++;
            seconds *= (double)sizes[i] / sizes[i - 1];
            continue;
        }
        progress_update(&job->watch.progress, "measure matching", done, total);
        TRY(measure_size(devices, sizes[i], error));
        done += sizes[i];
        seconds = clock_seconds() - begin;
    }
    progress_clear(&job->watch.progress);

    for (uint32_t g = 0; g < devices->calibration.n_gpus; g++) {
        struct calibrated_gpu *gpu = &devices->calibration.gpus[g];
        gpu->min_ops = gpu->min_open_ops = NEVER_FASTER;
        for (unsigned i = devices->n_sizes; i-- > 0 && devices->sizes[i].ms[2 + g] < devices->sizes[i].ms[1];)
            gpu->min_open_ops = devices->sizes[i].n_ops;
        for (unsigned i = devices->n_sizes; i-- > 0 && devices->sizes[i].opening_ms[2 + g] < devices->sizes[i].ms[1];)
            gpu->min_ops = devices->sizes[i].n_ops;
    }
    return SUTRA_OK;
}

static bool write_calibration(const void *of, struct text_out *text) {
    const struct devices_job *devices = of;
    const struct calibration *calibration = &devices->calibration;
    struct json_out json = {.text = text, .indent = 2};
    json_open(&json, '{');
    json_add_text(&json, "version", calibration->version);
    json_add_text(&json, "date", calibration->date);
    json_add_text(&json, "cpu", calibration->cpu);
    json_add_count(&json, "threads", calibration->n_threads);
    json_add_text(&json, "driver", *calibration->driver ? calibration->driver : NULL);
    json_add_open(&json, "gpus", '[');
    for (uint32_t i = 0; i < calibration->n_gpus; i++) {
        const struct calibrated_gpu *gpu = &calibration->gpus[i];
        json_open_line(&json);
        json_add_count(&json, "number", gpu->number);
        json_add_text(&json, "name", gpu->name);
        json_add_count(&json, "cuda", gpu->cuda);
        json_add_format(&json, "open_ms", "%.3f", gpu->open_ms);
        add_min_ops(&json, "min_operators", gpu->min_ops);
        add_min_ops(&json, "min_operators_open", gpu->min_open_ops);
        json_close_line(&json);
    }
    json_close(&json, ']');
    json_add_text(&json, "no_gpu", *devices->no_gpu ? devices->no_gpu : NULL);
    json_add_open(&json, "rows", '[');
    for (unsigned i = 0; i < devices->n_sizes; i++) {
        const struct measured_size *size = &devices->sizes[i];
        json_open_line(&json);
        json_add_count(&json, "operators", size->n_ops);
        json_add_format(&json, "one_thread_ms", "%.4f", size->ms[0]);
        json_add_format(&json, "all_threads_ms", "%.4f", size->ms[1]);
        json_add_open(&json, "gpus", '[');
        for (unsigned e = 2; e < devices->n_engines; e++) {
            json_open_line(&json);
            json_add_count(&json, "number", calibration->gpus[e - 2].number);
            json_add_format(&json, "ms", "%.4f", size->ms[e]);
            json_add_format(&json, "opening_ms", "%.4f", size->opening_ms[e]);
            json_close_line(&json);
        }
        json_close(&json, ']');
        json_close_line(&json);
    }
    json_close(&json, ']');
    json_add_count(&json, "skipped_for_time", devices->n_over_time);
    json_add_count(&json, "skipped_for_memory", devices->n_over_memory);
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

static void print_calibration(const struct devices_job *devices) {
    const struct calibration *calibration = &devices->calibration;
    const struct figure threads = counted_text(calibration->n_threads, "thread", "threads");
    printf("ms to match synthetic operators (the fastest round)\n%11s  %9s  %11s", "operators", "1 thread",
           threads.text);
    for (uint32_t i = 0; i < calibration->n_gpus; i++)
        printf("    %6s%-3" PRIu32 "  %9s  %7s", "GPU ", calibration->gpus[i].number, "opening", "speedup");
    printf("\n");
    for (unsigned i = 0; i < devices->n_sizes; i++) {
        const struct measured_size *size = &devices->sizes[i];
        printf("%11s  %9.2f  %11.2f", count_text(size->n_ops).text, size->ms[0], size->ms[1]);
        for (unsigned e = 2; e < devices->n_engines; e++)
            printf("    %9.2f  %9.2f  %7.2f", size->ms[e], size->opening_ms[e], size->ms[1] / size->ms[e]);
        printf("\n");
    }
    if (devices->n_over_time)
        printf("%s skipped: --seconds limits the time\n", counted_text(devices->n_over_time, "size", "sizes").text);
    if (devices->n_over_memory)
        printf("%s skipped: more than half of the available memory\n",
               counted_text(devices->n_over_memory, "size", "sizes").text);
    for (uint32_t i = 0; i < calibration->n_gpus; i++) {
        const struct calibrated_gpu *gpu = &calibration->gpus[i];
        printf("GPU %" PRIu32 " (%s) ", gpu->number, gpu->name);
        if (gpu->min_open_ops == NEVER_FASTER)
            printf("is slower than %s", threads.text);
        else
            printf("is faster than %s from %s operators on", threads.text, count_text(gpu->min_open_ops).text);
        if (gpu->min_ops == NEVER_FASTER)
            printf("; with %s to open it, slower\n", time_text(gpu->open_ms * 1e3).text);
        else
            printf("; with %s to open it, from %s on\n", time_text(gpu->open_ms * 1e3).text,
                   count_text(gpu->min_ops).text);
    }
    if (*devices->no_gpu)
        printf("%s: only the CPU is measured\n", devices->no_gpu);
    printf("written to %s\n", devices->path);
}

static int calibrate(struct devices_job *devices) {
    struct job *job = &devices->job;
    struct sutra_error error;
    TRY_CODE(prepare_file(devices));
    job->options.device = SUTRA_DEVICE_CPU;
    job->options.force = true; /* the file is the program's own */
    calibration_describe_machine(job->options.n_threads, &devices->calibration);
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(devices->calibration.date, sizeof devices->calibration.date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (job_open(job, NULL, &error) || add_engine(devices, SUTRA_DEVICE_CPU, 0, 1, &error) ||
        add_engine(devices, SUTRA_DEVICE_CPU, 0, job->options.n_threads, &error))
        return job_fail(job, &error);
    open_gpus(devices);
    if (measure(devices, &error) ||
        text_file_write(job->context, devices->path, write_calibration, devices, NULL, &error))
        return job_fail(job, &error);
    if (devices->json) {
        struct text_out text = {.file = stdout};
        write_calibration(devices, &text);
        const bool failed = text.out.failed;
        out_flush(&text);
        buffer_free(&text.out);
        return failed ? message_fail(SUTRA_SYSTEM, "out of memory") : SUTRA_OK;
    }
    if (!job->quiet)
        print_calibration(devices);
    return SUTRA_OK;
}

static int check(struct job *job) {
    const struct devices_job *devices = (const struct devices_job *)job;
    if (!devices->calibrate && (devices->seconds || devices->most_ops))
        return message_fail(SUTRA_USAGE, "--seconds and --operators require --calibrate");
    return SUTRA_OK;
}

static int work(struct job *job) {
    struct devices_job *devices = (struct devices_job *)job;
    return devices->calibrate ? calibrate(devices) : list_devices(devices);
}

static void release(struct job *job) {
    struct devices_job *devices = (struct devices_job *)job;
    for (unsigned i = 0; i < devices->n_engines; i++)
        sutra_context_free(devices->engines[i].context);
}

static const char *const synopses[] = {"[OPTIONS]", NULL};
static const char *const description[] = {
    "Lists the CUDA devices of this machine, numbered as in --device cuda:N, and prints when --device auto uses one. "
    "If there is no CUDA device, prints the reason.",
    "With --calibrate, matches synthetic tables of 10,000 to 10 million operators by one thread, by all threads and by "
    "each GPU, compares the results, prints the times, and writes them to $XDG_CONFIG_HOME/sutra/calibration.json "
    "(default: ~/.config). --device auto of link and link-legacy uses a GPU from the number of operators from which it "
    "was faster. A calibration is valid for one version of sutra, CPU, number of threads, GPU and driver.",
    NULL,
};
static const struct example examples[] = {
    {"sutra devices", "list the devices"},
    {"sutra devices --calibrate", "measure from which size a GPU is faster than the CPU, for a minute at most"},
    {"sutra devices --json | jq '.devices[].name'", "print the device names, for a script"},
    {0},
};

const struct command devices_command = {
    .name = "devices",
    .called = "sutra devices",
    .summary = "list usable GPUs",
    COMMAND_TEXTS,
    .size = sizeof(struct devices_job),
    .check = check,
    .work = work,
    .release = release,
};
