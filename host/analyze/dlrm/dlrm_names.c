/*
 * dlrm_names.c - names that mean something to the notebook only, and the shorter names that its tables and charts show.
 * Each string of the trace is looked at once.
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "text/number_text.h"

static const struct {
    enum comparison comparison;
    enum dlrm_name_role role;
    const char *text;
} known[] = {
    {TEXT_HAS, DLRM_COLON, ":"},
    {TEXT_HAS, DLRM_LOADER, "DataLoader"},
    {TEXT_HAS, DLRM_FORWARD, "## Forward ##"},
    {TEXT_IS, DLRM_ENTER, "profiler::_record_function_enter"},
    {TEXT_BEGINS, DLRM_LABEL, "##"},
    {TEXT_BEGINS, DLRM_LABEL, "__"},
    {TEXT_BEGINS, DLRM_LABEL, "module::"},
    {TEXT_BEGINS, DLRM_LABEL, "DLRM "},
    {TEXT_BEGINS, DLRM_LABEL, "DistributedDataParallel"},
    {TEXT_IS, DLRM_NO_START, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
    {TEXT_IS, DLRM_NO_START, "cudaPeakAtLastError"},
    {TEXT_IS, DLRM_NO_START, "cudaStreamGetCaptureInfo"},
    {TEXT_IS, DLRM_NO_START, "cudaEventQuery"},
    {TEXT_IS, DLRM_NO_START, "cudaEventRecord"},
    {TEXT_IS, DLRM_TO, "aten::to"},
};

struct string_roles *dlrm_roles_find(const struct strings *strings, bool compat, struct arena *arena) {
    struct string_roles *roles = names_find(strings, compat ? READER_DLRM : READER_DLRM_EXTENDED, arena);
    for (size_t i = 0; roles && i < sizeof known / sizeof *known; i++)
        names_mark(strings, roles, known[i].comparison, known[i].text, known[i].role);
    return roles;
}

static uint32_t intern(struct dlrm_work *work, const char *text, size_t length) {
    return strings_intern(work->texts, text, length);
}

static bool has(const struct dlrm_work *work, uint32_t text, const char *part) {
    return text_compare(work->texts, text, TEXT_HAS, part);
}

uint32_t dlrm_name(struct dlrm_work *work, uint32_t string) {
    const struct strings *strings = &work->trace->strings;
    uint32_t *text = &work->name_text[string];
    if (*text == STRING_NONE)
        *text = intern(work, strings_text(strings, string), strings_length(strings, string));
    return *text;
}

uint32_t dlrm_short_name(struct dlrm_work *work, uint32_t string) {
    uint32_t *text = &work->short_text[string];
    if (*text != STRING_NONE)
        return *text;
    const char *name = strings_text(&work->trace->strings, string);
    size_t length = strings_length(&work->trace->strings, string);
    const char *arguments = memchr(name, '<', length);
    size_t end = arguments ? (size_t)(arguments - name) : length, begin = end;
    while (begin > 0 && !(begin >= 2 && name[begin - 1] == ':' && name[begin - 2] == ':'))
        begin--;
    *text = intern(work, name + begin, end - begin);
    return *text;
}

uint32_t dlrm_legend(struct dlrm_work *work, uint32_t name) {
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
        if (has(work, name, legends[i][0]))
            return intern(work, legends[i][1], strlen(legends[i][1]));
    char begin[4 * 8];
    const char *text = strings_text(work->texts, name);
    size_t n = 0, n_characters = 0; /* bytes of the first eight characters */
    while (n < strings_length(work->texts, name) && (n_characters += ((unsigned char)text[n] & 0xc0) != 0x80) <= 8 &&
           n < sizeof begin) {
        begin[n] = text[n];
        n++;
    }
    return intern(work, begin, n);
}

uint32_t dlrm_group_name(struct dlrm_work *work, uint32_t name) {
    const char *text = strings_text(work->texts, name), *mark = memchr(text, '#', strings_length(work->texts, name));
    char small[256], *copy = small; /* the table may move while it takes in a part of itself */
    size_t length = mark ? (size_t)(mark - text) : 0;
    if (!mark)
        return name;
    if (length > sizeof small && !(copy = malloc(length)))
        return STRING_NONE;
    memcpy(copy, text, length);
    uint32_t group = intern(work, copy, length);
    if (copy != small)
        free(copy);
    return group;
}

uint32_t dlrm_id_text(struct dlrm_work *work, value_key id) {
    char room[NUMBER_TEXT_MAX];
    size_t length;
    const char *text = values_text(&work->context->values, id, room, &length);
    return intern(work, text, length);
}
