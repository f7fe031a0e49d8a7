/*
 * dlrm_names.c - what names and categories mean, and the shorter names that tables and charts show. Each string of the
 * trace is looked at once.
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "base/error.h"
#include "text/number_text.h"

enum match { MATCH_IS, MATCH_BEGINS, MATCH_HAS };

static const struct {
    enum match match;
    uint32_t role;
    const char *text;
} roles[] = {
    {MATCH_HAS, NAME_COLON, ":"},
    {MATCH_HAS, NAME_LOADER, "DataLoader"},
    {MATCH_HAS, NAME_FORWARD, "## Forward ##"},
    {MATCH_IS, NAME_ENTER, "profiler::_record_function_enter"},
    {MATCH_BEGINS, NAME_LABEL, "##"},
    {MATCH_BEGINS, NAME_LABEL, "__"},
    {MATCH_BEGINS, NAME_LABEL, "module::"},
    {MATCH_BEGINS, NAME_LABEL, "DLRM "},
    {MATCH_BEGINS, NAME_LABEL, "DistributedDataParallel"},
    {MATCH_IS, NAME_IGNORED, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
    {MATCH_IS, NAME_IGNORED, "cudaPeakAtLastError"},
    {MATCH_IS, NAME_IGNORED, "cudaStreamGetCaptureInfo"},
    {MATCH_IS, NAME_IGNORED, "cudaEventQuery"},
    {MATCH_IS, NAME_IGNORED, "cudaEventRecord"},
    {MATCH_IS, NAME_LAUNCH, "cudaMemcpyAsync"},
    {MATCH_IS, NAME_LAUNCH, "cudaLaunchKernel"},
    {MATCH_IS, NAME_STREAM_SYNC, "cudaStreamSynchronize"},
    {MATCH_IS, NAME_TO, "aten::to"},
    {MATCH_HAS, NAME_STEP, "ProfilerStep"},
    {MATCH_IS, CATEGORY_OP, "Operator"},
    {MATCH_IS, CATEGORY_OP, "cpu_op"},
    {MATCH_IS, CATEGORY_CALL, "Runtime"},
    {MATCH_IS, CATEGORY_CALL, "cuda_runtime"},
    {MATCH_IS, CATEGORY_NOTE, "user_annotation"},
    {MATCH_IS, CATEGORY_APART, "gpu_user_annotation"},
    {MATCH_IS, CATEGORY_APART, "cuda_sync"},
    {MATCH_IS, CATEGORY_APART, "overhead"},
};

enum sutra_status dlrm_roles_find(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    static bool (*const matches[])(const struct strings *, uint32_t, const char *) = {text_is, text_begins, text_has};
    const struct strings *strings = &dlrm->trace->strings;
    dlrm->roles = column_new(strings->n, sizeof *dlrm->roles);
    if (!dlrm->roles)
        return error_memory(error);
    for (uint32_t string = 0; string < strings->n; string++)
        for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
            if (matches[roles[i].match](strings, string, roles[i].text))
                dlrm->roles[string] |= roles[i].role;
    return SUTRA_OK;
}

uint32_t dlrm_name(struct sutra_dlrm *dlrm, uint32_t string) {
    const struct strings *strings = &dlrm->trace->strings;
    uint32_t *text = &dlrm->name_text[string];
    if (*text == STRING_NONE)
        *text = strings_intern(&dlrm->texts, strings_text(strings, string), strings_length(strings, string));
    return *text;
}

uint32_t dlrm_short_name(struct sutra_dlrm *dlrm, uint32_t string) {
    uint32_t *text = &dlrm->short_text[string];
    if (*text != STRING_NONE)
        return *text;
    const char *name = strings_text(&dlrm->trace->strings, string);
    size_t length = strings_length(&dlrm->trace->strings, string);
    const char *arguments = memchr(name, '<', length);
    size_t end = arguments ? (size_t)(arguments - name) : length, begin = end;
    while (begin > 0 && !(begin >= 2 && name[begin - 1] == ':' && name[begin - 2] == ':'))
        begin--;
    *text = strings_intern(&dlrm->texts, name + begin, end - begin);
    return *text;
}

uint32_t dlrm_legend(struct sutra_dlrm *dlrm, uint32_t name) {
    static const char *const legends[][2] = {
        {"gemm", "gemm"},
        {"gemv", "gemv"},
        {"Memset", "Memset"},
        {"Memcpy", "Memcpy"},
        {"vectorized_elementwise", "elwt"},
        {"unrolled_elementwise", "permute"},
        {"embedding_forward", "ELF"},
        {"embedding_backward", "ELB"},
        {"splitK", "splitK"},
        {"reduce_kernel", "reduce"},
        {"CatArray", "CatCopy"},
        {"indexing", "IdxBwd"},
    };
    for (size_t i = 0; i < sizeof legends / sizeof *legends; i++)
        if (text_has(&dlrm->texts, name, legends[i][0]))
            return strings_intern(&dlrm->texts, legends[i][1], strlen(legends[i][1]));
    char begin[4 * 8];
    const char *text = strings_text(&dlrm->texts, name);
    size_t n = 0, n_characters = 0; /* bytes of the first eight characters */
    while (n < strings_length(&dlrm->texts, name) && (n_characters += ((unsigned char)text[n] & 0xc0) != 0x80) <= 8 &&
           n < sizeof begin) {
        begin[n] = text[n];
        n++;
    }
    return strings_intern(&dlrm->texts, begin, n);
}

uint32_t dlrm_group_name(struct sutra_dlrm *dlrm, uint32_t name) {
    const char *text = strings_text(&dlrm->texts, name), *mark = memchr(text, '#', strings_length(&dlrm->texts, name));
    char small[256], *copy = small; /* the table may move while it takes in a part of itself */
    size_t length = mark ? (size_t)(mark - text) : 0;
    if (!mark)
        return name;
    if (length > sizeof small && !(copy = malloc(length)))
        return STRING_NONE;
    memcpy(copy, text, length);
    uint32_t group = strings_intern(&dlrm->texts, copy, length);
    if (copy != small)
        free(copy);
    return group;
}

uint32_t dlrm_id_text(struct sutra_dlrm *dlrm, value_key id) {
    const struct strings *odd = &dlrm->context->values.strings;
    char text[NUMBER_TEXT_MAX];
    if (key_is_integer(id))
        return strings_intern(&dlrm->texts, text, integer_format(id, text));
    if (id < KEY_VALUES)
        return strings_intern(&dlrm->texts, "None", 4);
    uint32_t string = (uint32_t)(id - KEY_VALUES); /* a letter for the type, then the value */
    const char *value = strings_text(odd, string) + 1;
    double number;
    switch (strings_text(odd, string)[0]) {
    case VALUES_DOUBLE:
        memcpy(&number, value, sizeof number);
        return strings_intern(&dlrm->texts, text, double_format(number, text));
    case VALUES_NAN:
        return strings_intern(&dlrm->texts, "nan", 3);
    default:
        return strings_intern(&dlrm->texts, value, strings_length(odd, string) - 1);
    }
}
