/*
 * calibration.c - implements calibration.h.
 */
#include "facts/calibration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shared.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/json.h"

#define REMEDY ": run sutra devices --calibrate"

/* ---- This machine ---- */

bool calibration_path(char *path, size_t size) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = -1;
    if (config && *config == '/') /* relative paths are invalid there */
        length = snprintf(path, size, "%s/sutra/calibration.json", config);
    else if (home && *home)
        length = snprintf(path, size, "%s/.config/sutra/calibration.json", home);
    return length > 0 && (size_t)length < size;
}

static bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

void calibration_copy_text(char *to, size_t size, const char *text) {
    size_t n = 0;
    for (; n + 1 < size && text[n]; n++)
        to[n] = is_plain(text[n]) ? text[n] : text[n] == '\t' ? ' ' : '?';
    to[n] = '\0';
}

/* Copies the rest of the first line of a file that begins with `prefix`, from the first letter on, if there is one. */
static void read_line(const char *path, const char *prefix, char *to, size_t size) {
    char line[512];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, prefix, strlen(prefix)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            const char *text = line + strlen(prefix);
            calibration_copy_text(to, size, text + strspn(text, "\t :"));
            break;
        }
    if (file)
        fclose(file);
}

void calibration_describe_machine(unsigned n_threads, struct calibration *calibration) {
    struct utsname system;
    *calibration = (struct calibration){.n_threads = n_threads};
    calibration_copy_text(calibration->version, sizeof calibration->version, sutra_version());
    read_line("/proc/cpuinfo", "model name", calibration->cpu, sizeof calibration->cpu);
    if (!*calibration->cpu && uname(&system) == 0)
        calibration_copy_text(calibration->cpu, sizeof calibration->cpu, system.machine);
    read_line("/proc/driver/nvidia/version", "", calibration->driver, sizeof calibration->driver);
}

/* ---- The file ---- */

/* A text; null is "". */
static void read_text(struct json_walker *walker, char *to, size_t size) {
    const size_t begin = walker->at;
    *to = '\0';
    if (walk_char(walker) != '"') {
        if (strncmp(walker->text + begin, "null", 4) == 0)
            walk_value(walker);
        else
            walk_fail(walker, "a string or null");
        return;
    }
    const struct json_span place = walk_string(walker);
    const size_t length = place.end - place.at - 1;
    bool is_text = !walker->expected && length < size;
    for (size_t i = 0; i < length && is_text; i++)
        is_text = is_plain(walker->text[place.at + 1 + i]);
    if (!is_text) {
        walk_to(walker, begin);
        walk_fail(walker, "a short string of printable ASCII");
        return;
    }
    memcpy(to, walker->text + place.at + 1, length);
    to[length] = '\0';
}

/* An integer up to `most`. */
static uint64_t read_count(struct json_walker *walker, int64_t most) {
    int64_t value = 0;
    if (!field_integer(walker->text + walker->at, &value) || value < 0 || value > most) {
        walk_fail(walker, "an integer in the range of the field");
        return 0;
    }
    walk_value(walker);
    return (uint64_t)value;
}

/* A number of operators; null: never. */
static uint64_t read_min_ops(struct json_walker *walker) {
    if (walk_char(walker) != 'n')
        return read_count(walker, UINT32_MAX);
    walk_value(walker);
    return NEVER_FASTER;
}

static void read_gpu(struct json_walker *walker, struct calibrated_gpu *gpu) {
    *gpu = (struct calibrated_gpu){.min_ops = NEVER_FASTER, .min_open_ops = NEVER_FASTER};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        const struct json_span key = walk_key(walker);
        struct number number;
        if (walker->expected)
            return;
        if (place_is(walker->source, key, "number"))
            gpu->number = (uint32_t)read_count(walker, UINT32_MAX);
        else if (place_is(walker->source, key, "cuda"))
            gpu->cuda = (uint32_t)read_count(walker, UINT32_MAX);
        else if (place_is(walker->source, key, "name"))
            read_text(walker, gpu->name, sizeof gpu->name);
        else if (place_is(walker->source, key, "min_operators"))
            gpu->min_ops = read_min_ops(walker);
        else if (place_is(walker->source, key, "min_operators_open"))
            gpu->min_open_ops = read_min_ops(walker);
        else if (place_is(walker->source, key, "open_ms") && field_number(walker->text + walker->at, &number)) {
            gpu->open_ms = number_as_double(number);
            walk_value(walker);
        } else
            walk_value(walker);
    }
}

enum sutra_status calibration_parse(const char *bytes, size_t size, struct calibration *calibration,
                                    struct sutra_error *error) {
    static char name[] = "";
    const struct source source = {.name = name, .bytes = bytes, .size = size};
    struct calibration made = {.n_threads = 0};
    struct json_walker walker = walk_from(&source, 0);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        const struct json_span key = walk_key(&walker);
        if (walker.expected)
            break;
        if (place_is(&source, key, "version"))
            read_text(&walker, made.version, sizeof made.version);
        else if (place_is(&source, key, "date"))
            read_text(&walker, made.date, sizeof made.date);
        else if (place_is(&source, key, "cpu"))
            read_text(&walker, made.cpu, sizeof made.cpu);
        else if (place_is(&source, key, "driver"))
            read_text(&walker, made.driver, sizeof made.driver);
        else if (place_is(&source, key, "threads"))
            made.n_threads = (uint32_t)read_count(&walker, UINT32_MAX);
        else if (place_is(&source, key, "gpus")) {
            made.n_gpus = 0;
            for (bool next = walk_array(&walker); next; next = walk_element_end(&walker)) {
                if (made.n_gpus == CALIBRATION_GPUS_MAX)
                    walk_fail(&walker, "at most 64 GPUs");
                else
                    read_gpu(&walker, &made.gpus[made.n_gpus++]);
            }
        } else
            walk_value(&walker);
    }
    if (!walker.expected && walker.at < size)
        walk_fail(&walker, "the end of the file");
    TRY(walk_error(&walker, error));
    *calibration = made;
    return SUTRA_OK;
}

/* Reads the bytes of the file into `bytes`, which are zeros; NULL, or the reason why not. */
static const char *read_bytes(const char *path, char bytes[CALIBRATION_BYTES_MAX + SOURCE_PADDING], size_t *size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    struct stat found;
    if (file < 0)
        return errno == ENOENT || errno == ENOTDIR ? "there is no calibration of this machine" : strerror(errno);
    const char *why = NULL;
    ssize_t n = 0;
    if (fstat(file, &found) || !S_ISREG(found.st_mode))
        why = "the calibration is not a regular file";
    else if (found.st_size > CALIBRATION_BYTES_MAX)
        why = "the calibration is larger than 64 KiB";
    for (*size = 0; !why && *size < CALIBRATION_BYTES_MAX; *size += (size_t)n) {
        n = read(file, bytes + *size, CALIBRATION_BYTES_MAX - *size);
        if (n < 0)
            why = "the calibration cannot be read";
        if (n <= 0)
            break;
    }
    close(file);
    return why;
}

/* Reads the file. False: it is ignored; `why` is the reason with the remedy, of `size` bytes. */
static bool read_file(unsigned n_threads, struct calibration *calibration, char *why, size_t size) {
    char path[PATH_MAX], bytes[CALIBRATION_BYTES_MAX + SOURCE_PADDING] = "";
    size_t n_bytes = 0;
    struct sutra_error error;
    struct calibration machine;
    if (!calibration_path(path, sizeof path)) {
        snprintf(why, size, "there is no calibration: neither XDG_CONFIG_HOME nor HOME is set");
        return false;
    }
    const char *reason = read_bytes(path, bytes, &n_bytes);
    if (reason) {
        snprintf(why, size, "%s" REMEDY, reason);
        return false;
    }
    if (calibration_parse(bytes, n_bytes, calibration, &error)) {
        snprintf(why, size, "the calibration is malformed at byte %" PRIu64 REMEDY, error.offset);
        return false;
    }
    calibration_describe_machine(n_threads, &machine);
    if (strcmp(calibration->version, machine.version) != 0)
        snprintf(why, size, "calibrated with sutra %s, this is %s" REMEDY, calibration->version, machine.version);
    else if (strcmp(calibration->cpu, machine.cpu) != 0)
        snprintf(why, size, "calibrated on the CPU %.60s, this is %.60s" REMEDY, calibration->cpu, machine.cpu);
    else if (strcmp(calibration->driver, machine.driver) != 0)
        snprintf(why, size, "calibrated with another NVIDIA driver" REMEDY);
    else if (calibration->n_threads != n_threads)
        snprintf(why, size,
                 "calibrated with --threads %" PRIu32 ", this run has %u: run sutra devices --calibrate "
                 "--threads %u",
                 calibration->n_threads, n_threads, n_threads);
    else
        return true;
    return false;
}

bool calibration_read(unsigned n_threads, uint32_t number, struct calibration *calibration,
                      struct gpu_calibration *gpu) {
    *gpu = (struct gpu_calibration){.is_known = true, .min_ops = NEVER_FASTER, .min_open_ops = NEVER_FASTER};
    if (!read_file(n_threads, calibration, gpu->why_cpu, sizeof gpu->why_cpu))
        return false;
    for (uint32_t i = 0; i < calibration->n_gpus; i++) {
        const struct calibrated_gpu *found = &calibration->gpus[i];
        if (found->number != number)
            continue;
        gpu->min_ops = found->min_ops;
        gpu->min_open_ops = MIN(found->min_open_ops, found->min_ops);
        gpu->driver = found->cuda;
        memcpy(gpu->device, found->name, sizeof gpu->device);
        if (gpu->min_open_ops == NEVER_FASTER)
            snprintf(gpu->why_cpu, sizeof gpu->why_cpu,
                     "GPU %" PRIu32 " is calibrated as slower for all measured sizes", number);
        return true;
    }
    snprintf(gpu->why_cpu, sizeof gpu->why_cpu, "GPU %" PRIu32 " is not calibrated" REMEDY, number);
    return true;
}

void choose_engine_for_matching(struct sutra_context *context, const struct sutra_device_trace *trace) {
    struct gpu_calibration *calibration = &context->choice.calibration;
    uint64_t n_ops = 0;
    if (context->options.device == SUTRA_DEVICE_AUTO) {
        const uint32_t category = strings_find(&trace->strings, "cpu_op", strlen("cpu_op"));
        for (row_t i = 0; i < trace->events.n && category != STRING_NONE; i++)
            n_ops += trace->events.category[i] == category;
        struct calibration file;
        if (n_ops >= CALIBRATED_OPS_MIN && !calibration->is_known)
            calibration_read(pool_threads(context->pool), context->options.device_number, &file, calibration);
    }
    context_choose_engine(context, n_ops);
}
