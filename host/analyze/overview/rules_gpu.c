/*
 * rules_gpu.c - what the device itself takes too long for: copies, kernels in too much precision, attention in
 * pieces, passes over memory, changes of layout; and products, where nothing else is to be said.
 *
 * A faster kernel wins nothing where the host never waits for the device: what kernels could win is bounded by how long
 * it does (struct measures, blocked_on_device).
 */
#include "analyze/overview/findings.h"

#include "analyze/launches/arguments.h"
#include "base/error.h"
#include "facts/gpu_peaks.h"
#include "read/document.h"
#include "text/names.h"

/* ---- Shares of kernels ---- */

static bool has_any(const struct findings_work *work, uint32_t name, const char *const *words) {
    for (; *words; words++)
        if (text_compare(work->reading->strings, name, TEXT_HAS, *words))
            return true;
    return false;
}

/* Time of kernels whose name has one of the words and none of the others, and the one of them with most. */
static double kernels_with(const struct findings_work *work, const char *const *words, const char *const *without,
                           uint32_t *most) {
    const int64_t *of_kernel = work->measures.of_kernel;
    double sum = 0;
    *most = STRING_NONE;
    for (uint32_t name = 0; name < work->reading->strings->n; name++) {
        if (of_kernel[name] == 0 || !has_any(work, name, words) || has_any(work, name, without))
            continue;
        sum += (double)of_kernel[name];
        if (*most == STRING_NONE || of_kernel[name] > of_kernel[*most])
            *most = name;
    }
    return sum;
}

/* Percent of the device's time. */
static double part_of_device(const struct findings_work *work, double ticks) {
    return work->measures.device_time ? ticks / (double)work->measures.device_time * 100 : 0;
}

/* What kernels of so much time are of the window, in ticks: work that overlaps counts once. */
static double of_busy(const struct findings_work *work, double ticks) {
    return part_of_device(work, ticks) / 100 * (double)overview_busy(work->overview);
}

static double at_most_blocked(const struct findings_work *work, double win) {
    return fmin(win, (double)work->measures.blocked_on_device);
}

/* ---- copies: exposed >= COPIES_PERCENT. Win: that. ---- */

#define COPIES_PERCENT 5

/* The copies that most exposed time is of: their name, and the operator that launched most of these. */
struct copies_found {
    uint32_t name, op;
    int64_t ticks;
    row_t n;
};

static void find_most(const int64_t *sums, uint32_t n, uint32_t *most) {
    *most = STRING_NONE;
    for (uint32_t name = 0; name < n; name++)
        if (sums[name] > 0 && (*most == STRING_NONE || sums[name] > sums[*most]))
            *most = name;
}

static enum sutra_status find_copies(const struct findings_work *work, struct copies_found *found,
                                     struct sutra_error *error) {
    const struct device_rows *devices = &work->reading->devices;
    uint32_t n_strings = work->reading->strings->n;
    struct arena_mark mark = arena_mark(work->arena);
    int64_t *names = arena_zeros(work->arena, n_strings, sizeof *names);
    int64_t *ops = arena_zeros(work->arena, n_strings, sizeof *ops);
    struct kind_clock clock = {0};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status)
        status = kind_clock_make(work->overview, KIND(OVERVIEW_COPY), work->arena, &clock, error);
    *found = (struct copies_found){.name = STRING_NONE, .op = STRING_NONE};
    for (row_t i = 0; i < devices->n && !status; i++)
        if (work->overview->classes[i] == OVERVIEW_COPY)
            ticks_add(&names[work->reading->events->name[devices->event[i]]],
                      kind_clock_between(&clock, devices->start[i], devices->stop[i]));
    if (!status)
        find_most(names, n_strings, &found->name);
    for (row_t i = 0; i < devices->n && found->name != STRING_NONE; i++) {
        int64_t ticks = kind_clock_between(&clock, devices->start[i], devices->stop[i]);
        if (ticks == 0 || work->reading->events->name[devices->event[i]] != found->name)
            continue;
        found->n++;
        if (devices->launcher[i] != ROW_NONE)
            ticks_add(&ops[host_name(work->reading, devices->launcher[i])], ticks);
    }
    if (found->name != STRING_NONE) {
        found->ticks = names[found->name];
        find_most(ops, n_strings, &found->op);
    }
    arena_release(work->arena, mark);
    return status;
}

static const char *remedy_of_copies(const struct findings_work *work, const struct copies_found *found) {
    const struct strings *strings = work->reading->strings;
    bool copied = found->op != STRING_NONE && text_compare(strings, found->op, TEXT_IS, "aten::copy_");
    if (text_compare(strings, found->name, TEXT_HAS, "DtoD") && copied && work->measures.n_graph_launches)
        return "Inputs are copied into static buffers of CUDA graphs: pass the same buffers, or mark them "
               "(mark_static_address)";
    if (text_compare(strings, found->name, TEXT_HAS, "HtoD") && text_compare(strings, found->name, TEXT_HAS, "ageable"))
        return "The host memory is pageable: pin_memory=True and non_blocking=True overlap copies with kernels";
    if (text_compare(strings, found->name, TEXT_HAS, "HtoD"))
        return "Copy the next batch on a separate stream during the step";
    if (text_compare(strings, found->name, TEXT_HAS, "DtoH"))
        return "Read results less often, into pinned memory, with non_blocking=True";
    if (text_compare(strings, found->name, TEXT_HAS, "DtoD"))
        return "Avoid .contiguous(), .clone() and concatenation of large tensors";
    return "Check whether the copies are needed";
}

enum sutra_status rule_copies(struct findings_work *work, struct sutra_error *error) {
    const struct measures *measures = &work->measures;
    double exposed = (double)work->overview->ticks[OVERVIEW_COPY];
    struct copies_found found;
    if (part_of_window(work, exposed) < COPIES_PERCENT)
        return SUTRA_OK;
    enum sutra_status status = find_copies(work, &found, error);
    if (status || found.name == STRING_NONE)
        return status;
    struct overview_finding *finding = finding_say(
        work, FINDING_COPIES, exposed, "Exposed memcpy: %s (%s), %s of it %s", finding_per_step(work, exposed).text,
        finding_percent(exposed, measures->window).text,
        finding_percent(fmin((double)found.ticks, exposed), exposed).text, finding_name(work, found.name).text);
    if (found.op != STRING_NONE)
        finding_add(finding, " in %s", finding_name(work, found.op).text);
    finding_add(finding, ", %s. %s.", finding_count(work, found.n).text, remedy_of_copies(work, &found));
    finding_number(finding, "exposed_us", exposed / 1000 / measures->n_steps);
    finding_number(finding, "copies", found.n / measures->n_steps);
    finding_number(finding, "top_percent", fmin((double)found.ticks / exposed, 1) * 100);
    return SUTRA_OK;
}

/* ---- fp32_no_tensor_cores: products and convolutions in fp32 >= FP32_PERCENT of the window, on a device that has
 * tensor cores. Win: half of it, an estimate. ---- */

#define FP32_PERCENT       15
#define FP32_WIN           0.5
#define TENSOR_CORES_SINCE 7 /* compute capability */

static bool lacks_tensor_cores(const struct findings_work *work) {
    const struct document *document = &work->reading->trace->document;
    struct json_place major = device_member(document, "computeMajor");
    int64_t number;
    return major.at && field_integer(document->source.bytes + major.at, &number) && number < TENSOR_CORES_SINCE;
}

enum sutra_status rule_fp32(struct findings_work *work, struct sutra_error *error) {
    static const char *const words[] = {"sgemm", "scudnn", "engine<float", "convolve_sgemm", NULL};
    static const char *const without[] = {"tf32", "tensorop", NULL};
    uint32_t most;
    double ticks = kernels_with(work, words, without, &most), busy = of_busy(work, ticks);
    (void)error;
    if (part_of_window(work, busy) < FP32_PERCENT || lacks_tensor_cores(work))
        return SUTRA_OK;
    double win = at_most_blocked(work, busy * FP32_WIN);
    struct overview_finding *finding = finding_say(
        work, FINDING_FP32, win,
        "FP32 without tensor cores: %s of GPU time is FP32 matrix multiplication and convolution (%s). Use "
        "torch.autocast with bfloat16 or float16, or TF32 where available; about half of this time can go (estimate).",
        finding_percent(ticks, (double)work->measures.device_time).text, finding_name(work, most).text);
    finding_number(finding, "device_percent", part_of_device(work, ticks));
    finding_number(finding, "busy_us", busy / 1000 / work->measures.n_steps);
    finding_number(finding, "host_waits_us", (double)work->measures.blocked_on_device / 1000 / work->measures.n_steps);
    return SUTRA_OK;
}

/* ---- Products of one operator, by shape ---- */

/* The rows of hosts of an operator that launched work in the window. */
static row_t list_hosts(const struct findings_work *work, uint32_t name, row_t *rows) {
    const struct op_reading *reading = work->reading;
    const struct overview_window *window = &work->overview->window;
    row_t n = 0;
    for (row_t i = 0; i < reading->charges.n; i++) {
        row_t host = reading->charges.host[i];
        if (host_name(reading, host) == name && reading->hosts.kind[host] == HOST_OPERATOR &&
            reading->hosts.start[host] >= window->from && reading->hosts.start[host] < window->to)
            rows[n++] = host;
    }
    return n;
}

/* How long what an operator's row launched ran. */
static int64_t direct_ticks(const struct findings_work *work, row_t host) {
    row_t charge = work->reading->charges.of_host[host];
    return charge == ROW_NONE ? 0 : work->reading->charges.direct[charge];
}

/* ---- unfused_attention: softmax and batched products take >= ATTENTION_PERCENT of the device's time each, and there
 * are products of queries and keys among them. Win: their time less that of a fused kernel at 40 % of the peak. ---- */

#define ATTENTION_PERCENT 10
#define ATTENTION_LENGTH  512 /* of sequences, at least */
#define ATTENTION_WIDTH   256 /* of heads, at most */
#define ATTENTION_OF_PEAK 0.4

/* Whether inputs are those of a product of queries and keys: (batch, length, width) and (batch, width, length). */
static bool is_of_attention(const struct op_inputs *inputs) {
    struct input_tensor a = op_input_at(inputs, 0).tensor, b = op_input_at(inputs, 1).tensor;
    return a.n_dims == 3 && b.n_dims == 3 && a.dims[1] >= ATTENTION_LENGTH && b.dims[2] >= ATTENTION_LENGTH &&
           a.dims[2] <= ATTENTION_WIDTH && a.dims[2] == b.dims[1];
}

/* FLOPs of these products, and how long they take at the peak. */
struct attention_work {
    double flops, least_s;
    row_t n;
};

static enum sutra_status add_attention(const struct findings_work *work, const struct op_works *works,
                                       const struct device_peaks *peaks, struct attention_work *attention,
                                       struct sutra_error *error) {
    struct op_inputs_parser parser = {0};
    enum sutra_status status = SUTRA_OK;
    for (uint32_t g = 0; g < works->groups.n && !status; g++) {
        struct op_inputs inputs;
        row_t n = works->groups.first[g + 1] - works->groups.first[g];
        (void)work;
        if (!op_works_inputs(works, g, &parser, &inputs))
            status = error_memory(error);
        else if (is_of_attention(&inputs) && !works->flops[g].missing) {
            struct roofline at = roofline_of(peaks, &works->flops[g], false);
            attention->n += n;
            attention->flops += 2 * works->flops[g].flops * n; /* the product with values, too */
            attention->least_s += isnan(at.compute_s) ? 0 : 2 * at.compute_s * n;
        }
    }
    op_inputs_parser_free(&parser);
    return status;
}

static enum sutra_status measure_attention(const struct findings_work *work, uint32_t products,
                                           const struct device_peaks *peaks, struct attention_work *attention,
                                           struct sutra_error *error) {
    struct arena_mark mark = arena_mark(work->arena);
    row_t *rows = arena_take(work->arena, work->reading->charges.n, sizeof *rows);
    struct op_works works = {0};
    enum sutra_status status = arena_status(work->arena, error);
    *attention = (struct attention_work){0};
    if (!status) {
        row_t n = list_hosts(work, products, rows);
        status = op_works_read(work->context, work->reading, rows, n, FLOPS_OURS, work->arena, &works, error);
        if (!status)
            status = add_attention(work, &works, peaks, attention, error);
        op_works_free(&works);
    }
    arena_release(work->arena, mark);
    return status;
}

enum sutra_status rule_unfused_attention(struct findings_work *work, struct sutra_error *error) {
    const struct strings *strings = work->reading->strings;
    const struct measures *measures = &work->measures;
    uint32_t softmax = strings_find(strings, "aten::_softmax", 14), products = strings_find(strings, "aten::bmm", 9);
    struct device_peaks peaks = {0};
    struct attention_work attention;
    if (softmax == STRING_NONE || products == STRING_NONE ||
        part_of_device(work, (double)measures->of_operator[softmax]) < ATTENTION_PERCENT ||
        part_of_device(work, (double)measures->of_operator[products]) < ATTENTION_PERCENT ||
        !device_peaks_of(&work->reading->trace->document, &peaks))
        return SUTRA_OK;
    enum sutra_status status = measure_attention(work, products, &peaks, &attention, error);
    if (status || attention.n == 0)
        return status;
    double ticks = (double)measures->of_operator[softmax] + (double)measures->of_operator[products];
    double fused = attention.least_s / ATTENTION_OF_PEAK * 1e9, win = of_busy(work, fmax(0, ticks - fused));
    double steps = measures->n_steps, flops = attention.flops / steps;
    struct overview_finding *finding = finding_say(
        work, FINDING_UNFUSED_ATTENTION, at_most_blocked(work, win),
        "Unfused attention: %s of GPU time (aten::_softmax %s, aten::bmm %s%s). Use "
        "torch.nn.functional.scaled_dot_product_attention: fused, its %.*f %s take about %s (estimate at 40%% of peak).",
        finding_percent(ticks, (double)measures->device_time).text,
        finding_time((double)measures->of_operator[softmax] / steps).text,
        finding_time((double)measures->of_operator[products] / steps).text, steps > 1 ? " per step" : "",
        flops < 1e11 ? 1 : 2, flops < 1e11 ? flops / 1e9 : flops / 1e12, flops < 1e11 ? "GFLOP" : "TFLOP",
        finding_time(fused / steps).text);
    finding_number(finding, "device_percent", part_of_device(work, ticks));
    finding_number(finding, "unfused_us", ticks / 1000 / measures->n_steps);
    finding_number(finding, "fused_us", fused / 1000 / measures->n_steps);
    return SUTRA_OK;
}

/* ---- elementwise_fusion: kernels element by element >= ELEMENTWISE_PERCENT of the device's time, and the device is
 * busy. Win: 60 % of it, an estimate. ---- */

#define ELEMENTWISE_PERCENT 40
#define ELEMENTWISE_BUSY    70
#define ELEMENTWISE_WIN     0.6

enum sutra_status rule_elementwise_fusion(struct findings_work *work, struct sutra_error *error) {
    static const char *const words[] = {"elementwise", NULL}, *const without[] = {"triton", NULL};
    double busy = (double)overview_busy(work->overview);
    uint32_t most;
    double ticks = kernels_with(work, words, without, &most);
    (void)error;
    if (part_of_device(work, ticks) < ELEMENTWISE_PERCENT || part_of_window(work, busy) < ELEMENTWISE_BUSY)
        return SUTRA_OK;
    double win = at_most_blocked(work, of_busy(work, ticks) * ELEMENTWISE_WIN);
    struct overview_finding *finding = finding_say(
        work, FINDING_ELEMENTWISE_FUSION, win,
        "Unfused elementwise kernels: %s of GPU time (mostly %s), and the GPU is busy %s. Fuse them with torch.compile or "
        "fused kernels; more than half of this time can go (estimate).",
        finding_percent(ticks, (double)work->measures.device_time).text, finding_name(work, most).text,
        finding_percent(busy, work->measures.window).text);
    finding_number(finding, "device_percent", part_of_device(work, ticks));
    finding_number(finding, "busy_percent", part_of_window(work, busy));
    return SUTRA_OK;
}

/* ---- layout: changes between NCHW and NHWC >= LAYOUT_DEVICE_PERCENT of the device's time and LAYOUT_PERCENT of the
 * window. Win: that. ---- */

#define LAYOUT_DEVICE_PERCENT 5
#define LAYOUT_PERCENT        2

enum sutra_status rule_layout(struct findings_work *work, struct sutra_error *error) {
    static const char *const words[] = {"nchwToNhwc", "nhwcToNchw", "batched_transpose", NULL}, *const without[] = {
                                                                                                    NULL};
    uint32_t most;
    double ticks = kernels_with(work, words, without, &most), busy = of_busy(work, ticks);
    (void)error;
    if (part_of_device(work, ticks) < LAYOUT_DEVICE_PERCENT || part_of_window(work, busy) < LAYOUT_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding = finding_say(
        work, FINDING_LAYOUT, at_most_blocked(work, busy),
        "Layout conversion (NCHW/NHWC): %s of GPU time (%s). Use memory_format=torch.channels_last for the model and its "
        "inputs.",
        finding_percent(ticks, (double)work->measures.device_time).text, finding_name(work, most).text);
    finding_number(finding, "device_percent", part_of_device(work, ticks));
    finding_number(finding, "busy_us", busy / 1000 / work->measures.n_steps);
    return SUTRA_OK;
}

/* ---- gemm_bound: computing >= GEMM_PERCENT of the window, and none of the above explains it. No win. ---- */

#define GEMM_PERCENT 80

/* The operator for products that most of the device's time is of; STRING_NONE. */
static uint32_t main_product(const struct findings_work *work) {
    const struct strings *strings = work->reading->strings;
    const int64_t *of_operator = work->measures.of_operator;
    uint32_t most = STRING_NONE;
    for (uint32_t name = 0; name < strings->n; name++) {
        if (of_operator[name] == 0 || (most != STRING_NONE && of_operator[name] <= of_operator[most]))
            continue;
        const struct op_kind *kind =
            op_kind_find(strings_text(strings, name), strings_length(strings, name), OP_TABLE_ALL);
        if (kind && kind->category == OP_GEMM)
            most = name;
    }
    return most;
}

/* The group of equal arguments that takes most time. */
struct main_group {
    uint32_t group;
    double ticks;
    row_t n;
};

static struct main_group find_group(const struct findings_work *work, const struct op_works *works) {
    struct main_group most = {STRING_NONE, 0, 0};
    for (uint32_t g = 0; g < works->groups.n; g++) {
        double ticks = 0;
        for (row_t k = works->groups.first[g]; k < works->groups.first[g + 1]; k++)
            ticks += (double)direct_ticks(work, works->host[works->groups.member[k]]);
        if (ticks > most.ticks && !works->flops[g].missing)
            most = (struct main_group){g, ticks, works->groups.first[g + 1] - works->groups.first[g]};
    }
    return most;
}

static void add_rates(const struct findings_work *work, uint32_t name, const struct op_works *works,
                      struct overview_finding *finding) {
    struct device_peaks peaks;
    struct main_group most = find_group(work, works);
    if (most.group == STRING_NONE)
        return;
    const struct op_flops *flops = &works->flops[most.group];
    double seconds = most.ticks / 1e9, rate = flops->flops * most.n / seconds, bytes = flops->bytes * most.n / seconds;
    uint32_t dims =
        op_argument_text(&works->arguments, ARGUMENT_DIMS, works->groups.member[works->groups.first[most.group]]);
    finding_add(finding, " %s %s (%s of GPU time)", finding_name(work, name).text,
                short_text(strings_text(&works->arguments.texts, dims), 48).text,
                finding_percent(most.ticks, (double)work->measures.device_time).text);
    if (device_peaks_of(&work->reading->trace->document, &peaks)) {
        struct roofline at = roofline_of(&peaks, flops, false);
        double part = at.least_s * most.n / seconds * 100;
        if (at.by_compute)
            finding_add(finding, " runs at %.1f TFLOP/s, %.0f%% of the peak of %s.", rate / 1e12, part, peaks.name);
        else if (!isnan(bytes))
            finding_add(finding,
                        " moves %.2f TB/s, %.0f%% of the memory bandwidth of %s: use larger batches or fewer bits per "
                        "weight.",
                        bytes / 1e12, part, peaks.name);
        finding_number(finding, at.by_compute ? "peak_percent" : "memory_percent", part);
    } else {
        finding_add(finding, " runs at %.1f TFLOP/s.", rate / 1e12);
    }
    finding_number(finding, "tflops_per_s", rate / 1e12);
}

static enum sutra_status add_products(struct findings_work *work, struct overview_finding *finding,
                                      struct sutra_error *error) {
    uint32_t name = main_product(work);
    struct arena_mark mark = arena_mark(work->arena);
    row_t *rows = arena_take(work->arena, work->reading->charges.n, sizeof *rows);
    struct op_works works = {0};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status && name != STRING_NONE) {
        row_t n = list_hosts(work, name, rows);
        status = op_works_read(work->context, work->reading, rows, n, FLOPS_OURS, work->arena, &works, error);
        if (!status)
            add_rates(work, name, &works, finding);
        op_works_free(&works);
    }
    arena_release(work->arena, mark);
    return status;
}

enum sutra_status rule_gemm_bound(struct findings_work *work, struct sutra_error *error) {
    double compute = (double)work->overview->ticks[OVERVIEW_COMPUTE];
    uint32_t most;
    if (part_of_window(work, compute) < GEMM_PERCENT || work->measures.n_launches == 0 || work->fired[FINDING_FP32] ||
        work->fired[FINDING_UNFUSED_ATTENTION] || work->fired[FINDING_ELEMENTWISE_FUSION])
        return SUTRA_OK;
    find_most(work->measures.of_kernel, work->reading->strings->n, &most);
    struct overview_finding *finding =
        finding_say(work, FINDING_GEMM_BOUND, (double)NAN, "Compute-bound: the GPU computes %s of the time",
                    finding_percent(compute, work->measures.window).text);
    if (most != STRING_NONE)
        finding_add(finding, ", %s of it in %s",
                    finding_percent((double)work->measures.of_kernel[most], (double)work->measures.device_time).text,
                    finding_name(work, most).text);
    finding_number(finding, "compute_percent", part_of_window(work, compute));
    finding_add(finding, ". Only faster or fewer kernels help.");
    return add_products(work, finding, error);
}
