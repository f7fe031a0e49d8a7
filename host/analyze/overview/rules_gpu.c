/*
 * rules_gpu.c - findings about GPU activities: memcpy, kernels in too much precision, unfused attention and elementwise
 * kernels, layout conversions; and matrix multiplications, if nothing else explains the time.
 *
 * A faster kernel saves nothing if the host never waits for the GPU: savings of kernels are at most the time in which
 * it does (struct measures, blocked_on_device).
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include "analyze/overview/findings.h"

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "facts/gpu_peaks.h"
#include "read/document.h"
#include "text/names.h"

/* ---- Time of kernels ---- */

static bool has_any(const struct diagnosis *d, uint32_t name, const char *const *words) {
    for (; *words; words++)
        if (text_compare(d->model->strings, name, TEXT_HAS, *words))
            return true;
    return false;
}

/* Time of kernels whose name contains one of the words and none of `without`; the name with most time. */
static double sum_kernels(const struct diagnosis *d, const char *const *words, const char *const *without,
                          uint32_t *main_name) {
    const int64_t *of_kernel = d->measures.of_kernel;
    double sum = 0;
    *main_name = STRING_NONE;
    for (uint32_t name = 0; name < d->model->strings->n; name++) {
        if (of_kernel[name] == 0 || !has_any(d, name, words) || has_any(d, name, without))
            continue;
        sum += (double)of_kernel[name];
        if (*main_name == STRING_NONE || of_kernel[name] > of_kernel[*main_name])
            *main_name = name;
    }
    return sum;
}

/* Percent of the summed durations of all activities. */
static double percent_of_device(const struct diagnosis *d, double ticks) {
    return d->measures.device_time ? ticks / (double)d->measures.device_time * 100 : 0;
}

/* The same share of the busy time, in which overlapping activities count once. Ticks. */
static double busy_share(const struct diagnosis *d, double ticks) {
    return percent_of_device(d, ticks) / 100 * (double)overview_busy(d->overview);
}

/* Makes the finding of a kernel rule, without evidence, from marked activities (by row of devices, in d->kept) of this
 * duration: a faster kernel saves at most the time in which the CPU waits for the GPU. *added is NULL if none is in the
 * window. */
static enum sutra_status add_kernel_finding(struct diagnosis *d, const struct finding_rule *rule, const uint8_t *marked,
                                            double duration, double saving, struct overview_finding **added,
                                            struct sutra_error *error) {
    const struct overview_window *window = &d->overview->window;
    const struct device_rows *devices = &d->model->devices;
    const double waits = (double)d->measures.blocked_on_device;
    struct spans spans;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *ticks = arena_alloc(d->arena, devices->n, sizeof *ticks);
    *added = NULL;
    TRY_ALLOC(ticks, error);
    TRY(spans_of_devices(d->overview, marked, d->kept, &spans, error));
    if (spans.n == 0)
        return SUTRA_OK;
    struct overview_finding *finding = add_finding(d, rule, &spans, "%s", "");
    finding->kernels = marked;
    set_finding_saving(d, finding, fmin(saving, waits));
    finding->uncapped = percent_of_window(d, saving);
    finding->limited_by = waits < saving ? LIMIT_HOST_WAITS : LIMIT_NONE;
    set_finding_now(finding, "%s", finding_percent(duration, (double)d->measures.device_time).text);
    add_finding_number(finding, "device_percent", percent_of_device(d, duration));
    for (row_t i = 0; i < devices->n; i++)
        ticks[i] = marked[i] ? ticks_within(devices->start[i], devices->stop[i], window->from, window->to) : 0;
    TRY(find_device_places(d, ticks, false, &finding->where, error));
    arena_release(d->arena, mark);
    *added = finding;
    return SUTRA_OK;
}

/* Marks kernels whose name contains one of the words and none of `without`. NULL: out of memory. */
static const uint8_t *mark_kernels(const struct diagnosis *d, const char *const *words, const char *const *without) {
    const struct device_rows *devices = &d->model->devices;
    const struct device_events *events = d->model->events;
    uint8_t *matches = arena_alloc(d->arena, d->model->strings->n, 1), *marked = arena_alloc(d->kept, devices->n, 1);
    if (!matches || !marked)
        return NULL;
    for (uint32_t name = 0; name < d->model->strings->n; name++)
        matches[name] = d->measures.of_kernel[name] > 0 && has_any(d, name, words) && !has_any(d, name, without);
    for (row_t i = 0; i < devices->n; i++)
        marked[i] = d->overview->classes[i] != OVERVIEW_COPY && matches[events->name[devices->event[i]]];
    return marked;
}

/* The same for kernels with these words; `main_name` is the one with most time. */
static enum sutra_status add_family_finding(struct diagnosis *d, const struct finding_rule *rule,
                                            const char *const *words, const char *const *without, double duration,
                                            double saving, uint32_t main_name, struct overview_finding **added,
                                            struct sutra_error *error) {
    struct arena_mark mark = arena_mark(d->arena);
    const uint8_t *marked = mark_kernels(d, words, without);
    TRY_ALLOC(marked, error);
    TRY(add_kernel_finding(d, rule, marked, duration, saving, added, error));
    if (*added)
        copy_finding_name(d, main_name, (*added)->where.frame, sizeof(*added)->where.frame);
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* ---- copies: exposed memcpy >= COPIES_PERCENT. Saving: this time. ---- */

#define COPIES_PERCENT 5

/* The name with the largest sum; STRING_NONE: all are 0. */
static uint32_t find_max(const int64_t *sums, uint32_t n) {
    uint32_t max = STRING_NONE;
    for (uint32_t name = 0; name < n; name++)
        if (sums[name] > 0 && (max == STRING_NONE || sums[name] > sums[max]))
            max = name;
    return max;
}

/* The name with most exposed time among memcpys, and the operator that launched most of this time. */
struct main_copies {
    uint32_t name, op;
    int64_t ticks;
    row_t n;
};

static enum sutra_status find_main_copies(const struct diagnosis *d, struct main_copies *copies,
                                          struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const uint32_t *name_of_event = d->model->events->name;
    uint32_t n_strings = d->model->strings->n;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *names = arena_zeros(d->arena, n_strings, sizeof *names);
    int64_t *ops = arena_zeros(d->arena, n_strings, sizeof *ops);
    struct kind_clock clock;
    TRY(arena_status(d->arena, error));
    TRY(kind_clock_make(d->overview, KIND(OVERVIEW_COPY), d->arena, &clock, error));
    for (row_t i = 0; i < devices->n; i++)
        if (d->overview->classes[i] == OVERVIEW_COPY)
            ticks_add(&names[name_of_event[devices->event[i]]],
                      kind_clock_between(&clock, devices->start[i], devices->stop[i]));
    uint32_t name = find_max(names, n_strings);
    *copies = (struct main_copies){.name = name, .op = STRING_NONE};
    if (name != STRING_NONE) {
        copies->ticks = names[name];
        for (row_t i = 0; i < devices->n; i++) {
            int64_t ticks = kind_clock_between(&clock, devices->start[i], devices->stop[i]);
            if (ticks == 0 || name_of_event[devices->event[i]] != name)
                continue;
            copies->n++;
            uint32_t op = activity_operator(d->model, i);
            if (op != STRING_NONE)
                ticks_add(&ops[op], ticks);
        }
        copies->op = find_max(ops, n_strings);
    }
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

static uint32_t copy_facts(const struct diagnosis *d, const struct main_copies *copies) {
    const struct strings *strings = d->model->strings;
    bool copied = copies->op != STRING_NONE && text_compare(strings, copies->op, TEXT_IS, "aten::copy_");
    if (text_compare(strings, copies->name, TEXT_HAS, "DtoD"))
        return copied && d->measures.n_graph_launches ? FACT_STATIC_INPUT : FACT_ON_DEVICE;
    if (text_compare(strings, copies->name, TEXT_HAS, "HtoD"))
        return FACT_TO_DEVICE |
               (text_compare(strings, copies->name, TEXT_HAS, "ageable") ? (uint32_t)FACT_PAGEABLE : 0);
    return text_compare(strings, copies->name, TEXT_HAS, "DtoH") ? FACT_FROM_DEVICE : 0;
}

static enum sutra_status find_copies(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    double exposed = (double)d->overview->ticks[OVERVIEW_COPY];
    struct main_copies copies;
    if (percent_of_window(d, exposed) < COPIES_PERCENT)
        return SUTRA_OK;
    struct spans spans;
    TRY(find_main_copies(d, &copies, error));
    if (copies.name == STRING_NONE)
        return SUTRA_OK;
    TRY(spans_of_kinds(d->overview, KIND(OVERVIEW_COPY), d->kept, &spans, error));
    struct overview_finding *finding = add_finding(
        d, &rule_copies, &spans, "Copies that overlap with nothing take %s, %s of it %s",
        finding_per_step(d, exposed).text, finding_percent(fmin((double)copies.ticks, exposed), exposed).text,
        finding_name(d, copies.name).text);
    if (copies.op != STRING_NONE)
        append_finding_text(finding, "%s in %s", graph_operator_is_probable(d->model, copies.op) ? ", probably" : "",
                            finding_name(d, copies.op).text);
    append_finding_text(finding, ".");
    finding->facts |= copy_facts(d, &copies);
    copy_finding_name(d, copies.op, finding->where.frame, sizeof finding->where.frame);
    set_finding_now(finding, "%s", brief_time_text(exposed / measures->n_steps).text);
    add_finding_number(finding, "exposed_us", exposed / 1000 / measures->n_steps);
    add_finding_number(finding, "copies", copies.n / measures->n_steps);
    add_finding_number(finding, "top_percent", fmin((double)copies.ticks / exposed, 1) * 100);
    return SUTRA_OK;
}

static struct suspect_percents measure_copies(const struct diagnosis *d) {
    return (struct suspect_percents){percent_of_window(d, (double)d->overview->copies),
                                     percent_of_window(d, (double)d->overview->ticks[OVERVIEW_COPY])};
}

const struct finding_rule rule_copies = {
    .name = "copies",
    .title = "Exposed memcpy",
    .find = find_copies,
    .cpu = CPU_STAYS_BUSY,
    .marked = "exposed memcpy",
    .fix = "memcpys overlapped",
    .metric = "of exposed memcpy per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "static_input",
             .needs = FACT_STATIC_INPUT,
             .lines = {{"Inputs are copied into buffers of graphs: pass the same buffers, or mark them static "
                        "(mark_static_address).",
                        "torch._dynamo.mark_static_address", "github.com/pytorch/pytorch", 0}}},
            {.situation = "pageable",
             .needs = FACT_TO_DEVICE | FACT_PAGEABLE,
             .lines = {{"The host memory is pageable: pin_memory=True and non_blocking=True overlap copies with "
                        "kernels.",
                        "torch.utils.data.DataLoader", PINNED_PAGE, 0}}},
            {.situation = "pinned",
             .needs = FACT_TO_DEVICE,
             .lines = {{"Copy the next batch on a separate stream during the step.", "torch.cuda.Stream", PINNED_PAGE,
                        0}}},
            {.situation = "from_device",
             .needs = FACT_FROM_DEVICE,
             .lines = {{"Read results less often, into pinned memory, with non_blocking=True.", "torch.Tensor.to",
                        PINNED_PAGE, 0}}},
            {.situation = "on_device",
             .needs = FACT_ON_DEVICE,
             .lines = {{"Avoid .contiguous(), .clone() and concatenation of large tensors.", "torch.Tensor.contiguous",
                        TUNING_PAGE, 0}}},
            {.situation = "other", .lines = {{"Check whether the copies are needed.", NULL, NULL, 0}}},
        },
    .suspect = {.name = "copies",
                .text = "copies (memcpy %.0f%% of the time, %.1f%% exposed)",
                .min_apparent = 5,
                .measure = measure_copies,
                .position = 2},
};

/* ---- fp32_no_tensor_cores: matrix multiplications and convolutions in FP32 >= FP32_PERCENT of the window, on a GPU
 * with tensor cores. Saving: half of this time, an estimate. ---- */

#define FP32_PERCENT       15
#define FP32_SAVING        0.5
#define TENSOR_CORES_SINCE 7 /* compute capability */

static enum sutra_status find_fp32(struct diagnosis *d, struct sutra_error *error) {
    static const char *const words[] = {"sgemm", "scudnn", "engine<float", "convolve_sgemm", "f32f32_f32f32_f32",
                                        "ffma",  NULL};
    static const char *const without[] = {"tf32", "tensorop", NULL};
    uint32_t main_name;
    double ticks = sum_kernels(d, words, without, &main_name), busy = busy_share(d, ticks);
    d->measures.fp32_time = (int64_t)ticks;
    if (d->kernels_suppressed || percent_of_window(d, busy) < FP32_PERCENT)
        return SUTRA_OK;
    const struct document *document = &d->model->trace->document;
    struct json_span major = device_member(document, "computeMajor");
    int64_t capability;
    if (major.at && field_integer(document->source.bytes + major.at, &capability) && capability < TENSOR_CORES_SINCE)
        return SUTRA_OK;
    struct overview_finding *finding;
    TRY(add_family_finding(d, &rule_fp32, words, without, ticks, busy * FP32_SAVING, main_name, &finding, error));
    if (!finding)
        return SUTRA_OK;
    append_finding_text(finding,
                        "%s of GPU time is FP32 matrix multiplication and convolution (%s); about half can go.",
                        finding_percent(ticks, (double)d->measures.device_time).text, finding_name(d, main_name).text);
    add_finding_number(finding, "busy_us", busy / 1000 / d->measures.n_steps);
    add_finding_number(finding, "host_waits_us", (double)d->measures.blocked_on_device / 1000 / d->measures.n_steps);
    return SUTRA_OK;
}

/* The cost of FP32 is the capped saving. */
static struct suspect_percents measure_fp32(const struct diagnosis *d) {
    const struct overview_finding *finding = finding_of_rule(d->findings->list, d->findings->n_all, &rule_fp32);
    return (struct suspect_percents){percent_of_device(d, (double)d->measures.fp32_time),
                                     finding ? finding->saving_percent : 0};
}

#define AMP_PAGE TORCH_DOCS "amp.html"

const struct finding_rule rule_fp32 = {
    .name = "fp32_no_tensor_cores",
    .title = "FP32 without tensor cores",
    .find = find_fp32,
    .scope = SCOPE_COMPUTE,
    .is_estimate = true,
    .marked = "FP32 kernels",
    .fix = "tensor cores were used",
    .metric = "of GPU time in FP32 kernels",
    .after = "must fall",
    .remedies =
        {
            {.situation = "amd",
             .needs = FACT_HIP,
             .lines = {{"Use lower precision: torch.autocast with bfloat16.", "torch.autocast", AMP_PAGE, 0}}},
            {.situation = "nvidia",
             .lines = {{"Use tensor cores: torch.autocast with bfloat16, or "
                        "torch.set_float32_matmul_precision(\"high\") for TF32.",
                        "torch.autocast", AMP_PAGE, 0}}},
        },
    .suspect = {.name = "fp32",
                .text = "fp32 (%.0f%% of GPU time, but faster kernels save only %.1f%%)",
                .min_apparent = 15,
                .measure = measure_fp32,
                .position = 5},
};

/* ---- Matrix multiplications of one operator ---- */

/* Computes FLOPs of all calls of an operator that launched activities in the window. `costs` needs op_costs_free(). */
static enum sutra_status read_operator_costs(const struct diagnosis *d, uint32_t name, struct op_costs *costs,
                                             struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const struct overview_window *window = &d->overview->window;
    row_t *rows = arena_alloc(d->arena, model->attributions.n, sizeof *rows), n = 0;
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < model->attributions.n; i++) {
        row_t host = model->attributions.host[i];
        if (host_name(model, host) == name && model->hosts.kind[host] == HOST_OPERATOR &&
            model->hosts.start[host] >= window->from && model->hosts.start[host] < window->to)
            rows[n++] = host;
    }
    return op_costs_read(d->context, model, rows, n, FLOPS_OURS, d->arena, costs, error);
}

/* ---- unfused_attention: softmax and batched matrix multiplications take >= ATTENTION_PERCENT of the GPU time each,
 * and some of these multiply queries and keys. Saving: their time without the time of a fused kernel at 40 % of peak.
 * ---- */

#define ATTENTION_PERCENT   10
#define MIN_SEQUENCE_LENGTH 512
#define MAX_HEAD_WIDTH      256
#define ATTENTION_OF_PEAK   0.4

/* FLOPs of the products of queries and keys, and with values; their time at peak. */
struct attention_cost {
    double flops, min_s;
    row_t n;
};

static enum sutra_status measure_attention(const struct diagnosis *d, uint32_t bmm, const struct device_peaks *peaks,
                                           struct attention_cost *attention, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(d->arena);
    struct op_costs costs = {0};
    struct op_inputs_parser parser = {0};
    *attention = (struct attention_cost){0};
    enum sutra_status status = read_operator_costs(d, bmm, &costs, error);
    for (uint32_t g = 0; !status && g < costs.groups.n; g++) {
        struct op_inputs inputs;
        row_t n = costs.groups.first[g + 1] - costs.groups.first[g];
        if (!op_costs_inputs(&costs, g, &parser, &inputs)) {
            status = error_memory(error);
            break;
        }
        /* Queries and keys have shapes (batch, length, width) and (batch, width, length). */
        struct input_tensor a = op_input_at(&inputs, 0).tensor, b = op_input_at(&inputs, 1).tensor;
        bool is_attention = a.n_dims == 3 && b.n_dims == 3 && a.dims[1] >= MIN_SEQUENCE_LENGTH &&
                            b.dims[2] >= MIN_SEQUENCE_LENGTH && a.dims[2] <= MAX_HEAD_WIDTH && a.dims[2] == b.dims[1];
        if (!is_attention || costs.flops[g].missing)
            continue;
        struct roofline at = roofline_of(peaks, &costs.flops[g], false);
        attention->n += n;
        attention->flops += 2 * costs.flops[g].flops * n;
        attention->min_s += isnan(at.compute_s) ? 0 : 2 * at.compute_s * n;
    }
    op_inputs_parser_free(&parser);
    op_costs_free(&costs);
    arena_release(d->arena, mark);
    return status;
}

static enum sutra_status find_unfused_attention(struct diagnosis *d, struct sutra_error *error) {
    const struct strings *strings = d->model->strings;
    const struct measures *measures = &d->measures;
    uint32_t softmax = strings_find(strings, "aten::_softmax", 14), bmm = strings_find(strings, "aten::bmm", 9);
    struct device_peaks peaks = {0};
    struct attention_cost attention;
    if (d->kernels_suppressed || softmax == STRING_NONE || bmm == STRING_NONE ||
        percent_of_device(d, (double)measures->of_operator[softmax]) < ATTENTION_PERCENT ||
        percent_of_device(d, (double)measures->of_operator[bmm]) < ATTENTION_PERCENT ||
        !device_peaks_of(&d->model->trace->document, &peaks))
        return SUTRA_OK;
    TRY(measure_attention(d, bmm, &peaks, &attention, error));
    if (attention.n == 0)
        return SUTRA_OK;
    double ticks = (double)measures->of_operator[softmax] + (double)measures->of_operator[bmm];
    double fused = attention.min_s / ATTENTION_OF_PEAK * 1e9, saving = busy_share(d, fmax(0, ticks - fused));
    double steps = measures->n_steps, flops = attention.flops / steps;
    const struct device_rows *devices = &d->model->devices;
    uint8_t *marked = arena_zeros(d->kept, devices->n, 1);
    TRY_ALLOC(marked, error);
    for (row_t i = 0; i < devices->n; i++) {
        uint32_t op = devices->launcher[i] == ROW_NONE ? STRING_NONE : host_name(d->model, devices->launcher[i]);
        marked[i] = op == softmax || op == bmm;
    }
    struct overview_finding *finding;
    TRY(add_kernel_finding(d, &rule_unfused_attention, marked, ticks, saving, &finding, error));
    if (!finding)
        return SUTRA_OK;
    append_finding_text(finding,
                        "aten::_softmax and aten::bmm take %s of GPU time, %s%s. Fused, their %.*f %s take about %s.",
                        finding_percent(ticks, (double)measures->device_time).text, brief_time_text(ticks / steps).text,
                        steps > 1 ? " per step" : "", flops < 1e11 ? 1 : 2, flops < 1e11 ? flops / 1e9 : flops / 1e12,
                        flops < 1e11 ? "GFLOP" : "TFLOP", brief_time_text(fused / steps).text);
    add_finding_number(finding, "unfused_us", ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "fused_us", fused / 1000 / measures->n_steps);
    return SUTRA_OK;
}

const struct finding_rule rule_unfused_attention = {
    .name = "unfused_attention",
    .title = "Unfused attention",
    .find = find_unfused_attention,
    .scope = SCOPE_COMPUTE,
    .is_estimate = true,
    .marked = "attention kernels",
    .fix = "attention were fused",
    .metric = "of GPU time in softmax and bmm",
    .after = "must fall",
    .remedies = {{.lines = {{"Use torch.nn.functional.scaled_dot_product_attention.",
                             "torch.nn.functional.scaled_dot_product_attention",
                             TORCH_DOCS "generated/torch.nn.functional.scaled_dot_product_attention.html", 0}}}},
};

/* ---- elementwise_fusion: elementwise kernels >= ELEMENTWISE_PERCENT of the GPU time, and the GPU is busy >=
 * ELEMENTWISE_BUSY. Saving: 60 % of this time, an estimate. ---- */

#define ELEMENTWISE_PERCENT 40
#define ELEMENTWISE_BUSY    70
#define ELEMENTWISE_SAVING  0.6

static enum sutra_status find_elementwise_fusion(struct diagnosis *d, struct sutra_error *error) {
    static const char *const words[] = {"elementwise", NULL}, *const without[] = {"triton", NULL};
    double busy = (double)overview_busy(d->overview);
    uint32_t main_name;
    double ticks = sum_kernels(d, words, without, &main_name);
    if (d->kernels_suppressed || percent_of_device(d, ticks) < ELEMENTWISE_PERCENT ||
        percent_of_window(d, busy) < ELEMENTWISE_BUSY)
        return SUTRA_OK;
    struct overview_finding *finding;
    TRY(add_family_finding(d, &rule_elementwise_fusion, words, without, ticks,
                           busy_share(d, ticks) * ELEMENTWISE_SAVING, main_name, &finding, error));
    if (!finding)
        return SUTRA_OK;
    append_finding_text(
        finding, "Elementwise kernels take %s of GPU time (mostly %s), and the GPU is busy %s. More than half can go.",
        finding_percent(ticks, (double)d->measures.device_time).text, finding_name(d, main_name).text,
        finding_percent(busy, d->measures.window).text);
    add_finding_number(finding, "busy_percent", percent_of_window(d, busy));
    return SUTRA_OK;
}

const struct finding_rule rule_elementwise_fusion = {
    .name = "elementwise_fusion",
    .title = "Unfused elementwise kernels",
    .find = find_elementwise_fusion,
    .scope = SCOPE_COMPUTE,
    .is_estimate = true,
    .marked = "elementwise kernels",
    .fix = "elementwise kernels were fused",
    .metric = "of GPU time in elementwise kernels",
    .after = "must fall",
    .remedies =
        {
            {.situation = "compiled",
             .needs = FACT_COMPILED,
             .lines = {{"Fuse them: find the graph breaks that keep them out of the compiled code "
                        "(TORCH_LOGS=graph_breaks).",
                        "TORCH_LOGS", COMPILE_PAGE, 0}}},
            {.situation = "eager",
             .lines = {{"Fuse them with torch.compile, or use fused kernels.", "torch.compile", COMPILE_PAGE, 0}}},
        },
};

/* ---- layout: conversions between NCHW and NHWC >= LAYOUT_DEVICE_PERCENT of the GPU time and LAYOUT_PERCENT of the
 * window. Saving: this time. ---- */

#define LAYOUT_DEVICE_PERCENT 5
#define LAYOUT_PERCENT        2

static enum sutra_status find_layout(struct diagnosis *d, struct sutra_error *error) {
    static const char *const words[] = {"nchwToNhwc", "nhwcToNchw", "batched_transpose", NULL}, *const without[] = {
                                                                                                    NULL};
    uint32_t main_name;
    double ticks = sum_kernels(d, words, without, &main_name), busy = busy_share(d, ticks);
    if (d->kernels_suppressed || percent_of_device(d, ticks) < LAYOUT_DEVICE_PERCENT ||
        percent_of_window(d, busy) < LAYOUT_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding;
    TRY(add_family_finding(d, &rule_layout, words, without, ticks, busy, main_name, &finding, error));
    if (!finding)
        return SUTRA_OK;
    append_finding_text(finding, "%s of GPU time converts layouts (%s).",
                        finding_percent(ticks, (double)d->measures.device_time).text, finding_name(d, main_name).text);
    add_finding_number(finding, "busy_us", busy / 1000 / d->measures.n_steps);
    return SUTRA_OK;
}

const struct finding_rule rule_layout = {
    .name = "layout",
    .title = "Layout conversion (NCHW/NHWC)",
    .find = find_layout,
    .min_percent = 0.5,
    .is_estimate = true,
    .marked = "layout kernels",
    .fix = "tensors kept their layout",
    .metric = "of GPU time in layout conversion",
    .after = "must go to 0",
    .remedies = {{.lines = {{"Use memory_format=torch.channels_last for the model and its inputs.",
                             "torch.channels_last",
                             "docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html", 0}}}},
};

/* ---- gemm_bound: compute >= GEMM_PERCENT of the window, no other finding >= OTHER_PERCENT except layouts, and no
 * kernel rule >= KERNEL_RULE_PERCENT. No saving. ---- */

#define GEMM_PERCENT        80
#define OTHER_PERCENT       10
#define KERNEL_RULE_PERCENT 3

/* Adds the rate of the most expensive matrix multiplication, by name and then by shape. */
static enum sutra_status add_gemm_rate(struct diagnosis *d, struct overview_finding *finding,
                                       struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const struct strings *strings = model->strings;
    const int64_t *of_operator = d->measures.of_operator;
    uint32_t gemm = STRING_NONE;
    for (uint32_t name = 0; name < strings->n; name++) {
        if (of_operator[name] == 0 || (gemm != STRING_NONE && of_operator[name] <= of_operator[gemm]))
            continue;
        const struct op_kind *kind =
            op_kind_find(strings_text(strings, name), strings_length(strings, name), OP_TABLE_ALL);
        if (kind && kind->category == OP_GEMM)
            gemm = name;
    }
    if (gemm == STRING_NONE)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(d->arena);
    struct op_costs costs = {0};
    enum sutra_status status = read_operator_costs(d, gemm, &costs, error);
    uint32_t group = STRING_NONE;
    double group_ticks = 0;
    for (uint32_t g = 0; !status && g < costs.groups.n; g++) {
        double ticks = 0;
        for (row_t k = costs.groups.first[g]; k < costs.groups.first[g + 1]; k++) {
            row_t attribution = model->attributions.of_host[costs.host[costs.groups.member[k]]];
            ticks += attribution == ROW_NONE ? 0 : (double)model->attributions.direct[attribution];
        }
        if (ticks > group_ticks && !costs.flops[g].missing) {
            group = g;
            group_ticks = ticks;
        }
    }
    if (group != STRING_NONE) {
        const struct op_flops *flops = &costs.flops[group];
        row_t n = costs.groups.first[group + 1] - costs.groups.first[group];
        double seconds = group_ticks / 1e9, rate = flops->flops * n / seconds, bytes = flops->bytes * n / seconds;
        uint32_t dims =
            op_argument_text(&costs.arguments, ARGUMENT_DIMS, costs.groups.member[costs.groups.first[group]]);
        struct device_peaks peaks;
        append_finding_text(finding, " %s %s (%s of GPU time)", finding_name(d, gemm).text,
                            short_text(strings_text(&costs.arguments.texts, dims), 48).text,
                            finding_percent(group_ticks, (double)d->measures.device_time).text);
        if (device_peaks_of(&model->trace->document, &peaks)) {
            struct roofline at = roofline_of(&peaks, flops, false);
            double percent = at.min_s * n / seconds * 100;
            if (at.by_compute)
                append_finding_text(finding, " runs at %.1f TFLOP/s, %.0f%% of the peak of %s.", rate / 1e12, percent,
                                    peaks.name);
            else if (!isnan(bytes))
                append_finding_text(finding, " moves %.2f TB/s, %.0f%% of the memory bandwidth of %s.", bytes / 1e12,
                                    percent, peaks.name);
            finding->facts |= at.by_compute || isnan(bytes) ? 0 : FACT_FEW_ROWS;
            add_finding_number(finding, at.by_compute ? "peak_percent" : "memory_percent", percent);
        } else {
            append_finding_text(finding, " runs at %.1f TFLOP/s.", rate / 1e12);
        }
        add_finding_number(finding, "tflops_per_s", rate / 1e12);
    }
    op_costs_free(&costs);
    arena_release(d->arena, mark);
    return status;
}

uint32_t find_max_kernel(const struct diagnosis *d) {
    const struct device_rows *devices = &d->model->devices;
    const int64_t *of_kernel = d->measures.of_kernel;
    uint32_t found = STRING_NONE;
    int64_t max_ticks = 0;
    for (row_t i = 0; i < devices->n; i++) {
        const uint32_t name = d->model->events->name[devices->event[i]];
        const int64_t ticks = d->overview->classes[i] == OVERVIEW_COMPUTE ? of_kernel[name] : 0;
        if (ticks > max_ticks || (ticks > 0 && ticks == max_ticks && name < found)) {
            max_ticks = ticks;
            found = name;
        }
    }
    return found;
}

/* Whether another finding with a known cause explains more than the kernels that compute. */
static bool has_other_cause(const struct diagnosis *d) {
    for (unsigned i = 0; i < d->findings->n_all; i++) {
        const struct overview_finding *finding = &d->findings->list[i];
        const double minimum = finding->rule->scope == SCOPE_COMPUTE ? KERNEL_RULE_PERCENT : OTHER_PERCENT;
        if (finding->saving_percent >= minimum && finding->rule != &rule_layout && !finding->rule->cause_is_unknown)
            return true;
    }
    return false;
}

static enum sutra_status find_gemm_bound(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    double compute = (double)d->overview->ticks[OVERVIEW_COMPUTE];
    if (percent_of_window(d, compute) < GEMM_PERCENT || has_other_cause(d))
        return SUTRA_OK;
    uint32_t kernel = find_max_kernel(d);
    struct overview_finding *finding = add_finding(d, &rule_gemm_bound, NULL, "The GPU computes %s of the time",
                                                   finding_percent(compute, measures->window).text);
    if (kernel != STRING_NONE) {
        append_finding_text(finding, ", %s of it in %s",
                            finding_percent((double)measures->of_kernel[kernel], (double)measures->device_time).text,
                            finding_name(d, kernel).text);
        finding->where.n_units = finding->where.n_names = 1;
        finding->where.units[0] = (struct finding_unit){
            .phase = SUTRA_N_PHASES, .percent = percent_of_device(d, (double)measures->of_kernel[kernel])};
        copy_finding_name(d, kernel, finding->where.units[0].name, sizeof finding->where.units[0].name);
    }
    append_finding_text(finding, ".");
    set_finding_now(finding, "%s", finding_percent(compute, measures->window).text);
    add_finding_number(finding, "compute_percent", percent_of_window(d, compute));
    return add_gemm_rate(d, finding, error);
}

#define FEWER_BITS                                                                                                     \
    { "Few rows per matmul read all weights: use a larger batch, or fewer bits per weight.", NULL, TUNING_PAGE, 0 }
#define FASTER_KERNELS                                                                                                 \
    { "Only faster or fewer kernels help.", NULL, NULL, 0 }
#define TUNABLE_GEMMS                                                                                                  \
    { "Tune GEMMs: PYTORCH_TUNABLEOP_ENABLED=1.", "PYTORCH_TUNABLEOP_ENABLED", TORCH_DOCS "cuda.tunable.html", 0 }

const struct finding_rule rule_gemm_bound = {
    .name = "gemm_bound",
    .title = "Compute-bound",
    .find = find_gemm_bound,
    .metric = "of the time in compute",
    .after = "may stay: TFLOP/s or items per second must rise",
    .remedies =
        {
            {.situation = "amd_memory_bound", .needs = FACT_HIP | FACT_FEW_ROWS, .lines = {FEWER_BITS, TUNABLE_GEMMS}},
            {.situation = "amd", .needs = FACT_HIP, .lines = {FASTER_KERNELS, TUNABLE_GEMMS}},
            {.situation = "memory_bound", .needs = FACT_FEW_ROWS, .lines = {FEWER_BITS}},
            {.lines = {FASTER_KERNELS}},
        },
};
