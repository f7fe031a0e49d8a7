/*
 * collectives.c - implements collectives.h.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/shared.h"
#include "facts/collectives.h"
#include "facts/op_inputs.h"
#include "text/quantities.h"
#include "text/strings.h"

const char *const collective_kind_names[N_COMM_KINDS] = {
#define COMM_NAME(number, name) name,
    COMM_KINDS(COMM_NAME)
#undef COMM_NAME
};

/*
 * The word in a name, in lower case without "_" and "-", that determines its kind, and a letter for each reader of the
 * line. The reader's first line whose word is in the name counts.
 *
 *     K  sutra's own kinds       C  chakra_converter
 *     S  Chakra's schema, all of whose collectives chakra_converter does not recognize
 */
static const struct {
    const char *word;
    enum comm_kind kind;
    const char *readers;
} kind_words[] = {
    {"allreduce", COMM_ALL_REDUCE, "KCS"},
    {"crossdevicereduce", COMM_ALL_REDUCE, "K"},
    {"alltoall", COMM_ALL_TO_ALL, "CS"}, /* chakra_converter tries it before all-gather and ignores the v */
    {"allgather", COMM_ALL_GATHER, "KCS"},
    {"reducescatter", COMM_REDUCE_SCATTER, "KCS"},
    {"alltoallv", COMM_ALL_TO_ALL_V, "K"},
    {"alltoall", COMM_ALL_TO_ALL, "K"},
    {"broadcast", COMM_BROADCAST, "KCS"},
    {"barrier", COMM_BARRIER, "K"},
    {"ncclkernelreduce", COMM_REDUCE, "S"},
    {"nccldevkernelreduce", COMM_REDUCE, "S"},
    {"gather", COMM_GATHER, "KS"},
    {"scatter", COMM_SCATTER, "KS"},
    {"reduce", COMM_REDUCE, "K"},
    {"send", COMM_MESSAGE, "K"},
    {"recv", COMM_MESSAGE, "K"},
    {"message", COMM_MESSAGE, "K"},
};

/* sutra reads the name of a kernel, not its arguments; chakra_converter reads both. */
#define KIND_NAME_LENGTH   127
#define CHAKRA_NAME_LENGTH 1024

enum comm_kind collective_kind_read(const char *name, size_t length, enum collective_reader reader) {
    char flat[CHAKRA_NAME_LENGTH];
    size_t n = 0, limit = reader == COLLECTIVES_OF_SUTRA ? KIND_NAME_LENGTH : CHAKRA_NAME_LENGTH;
    for (size_t i = 0; i < length && n < limit; i++)
        if (name[i] != '_' && name[i] != '-')
            flat[n++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + ('a' - 'A')) : name[i];
    for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
        if (strchr(kind_words[i].readers, (int)reader) && text_has(flat, n, kind_words[i].word))
            return kind_words[i].kind;
    return COMM_OTHER;
}

enum comm_kind collective_kind_of(const char *name) {
    return collective_kind_read(name, strlen(name), COLLECTIVES_OF_SUTRA);
}

bool collective_ends_at_once(enum comm_kind kind) {
    return kind <= COMM_ALL_TO_ALL || kind == COMM_BARRIER;
}

bool collective_sizes_differ(const char *name) {
    enum comm_kind kind = collective_kind_of(name);
    return kind == COMM_ALL_TO_ALL_V || kind == COMM_GATHER || kind == COMM_SCATTER || strstr(name, "coalesced");
}

int64_t collective_elements(enum comm_kind kind, int64_t n_in, int64_t n_out, int64_t n_ranks) {
    int64_t larger = MAX(n_in, n_out), smaller = MIN(n_in, n_out), total;
    if (kind == COMM_ALL_GATHER)
        return n_out > 0 ? n_out : larger;
    if ((kind != COMM_GATHER && kind != COMM_SCATTER) || smaller <= 0 ||
        __builtin_mul_overflow(smaller, n_ranks, &total))
        return larger;
    return MAX(total, larger);
}

double collective_bus_share(enum comm_kind kind, int64_t n_ranks) {
    double n = (double)n_ranks, others = n_ranks > 0 ? (n - 1) / n : (double)NAN;
    switch (kind) {
    case COMM_ALL_REDUCE:
        return 2 * others;
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
    case COMM_ALL_TO_ALL:
    case COMM_ALL_TO_ALL_V:
    case COMM_GATHER:
    case COMM_SCATTER:
        return others;
    case COMM_BROADCAST:
    case COMM_REDUCE:
    case COMM_MESSAGE:
        return 1;
    default:
        return (double)NAN;
    }
}

/* PyTorch's scalar types and the names that data_type_find() knows; Float, Int and others are the same in both. */
static const struct {
    const char *scalar, *type;
} scalars[] = {{"Half", "c10::Half"},
               {"BFloat16", "c10::BFloat16"},
               {"Long", "long int"},
               {"Byte", "unsigned char"},
               {"Short", "short int"},
               {"ComplexHalf", "c10::complex<c10::Half>"},
               {"ComplexFloat", "c10::complex<float>"},
               {"ComplexDouble", "c10::complex<double>"},
               {"UInt16", "unsigned short"},
               {"UInt32", "unsigned int"},
               {"UInt64", "unsigned long"}};

unsigned collective_type_bytes(const char *type) {
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(type, scalars[i].scalar) == 0) {
            type = scalars[i].type;
            break;
        }
    if (strncmp(type, "Float8_", strlen("Float8_")) == 0)
        return 1;
    const struct data_type *found = data_type_find(type, strlen(type));
    return found ? found->bytes : 0;
}

const char *collective_type_of_tensor(const char *type, size_t length) {
    static const char *const same_names[] = {"Float", "Double", "Int", "Bool", "Char"};
    const struct data_type *found = data_type_find(type, length);
    if (!found)
        return NULL;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(found->name, scalars[i].type) == 0)
            return scalars[i].scalar;
    for (size_t i = 0; i < sizeof same_names / sizeof *same_names; i++)
        if (strcasecmp(found->name, same_names[i]) == 0)
            return same_names[i];
    return strncmp(found->name, "c10::", 5) == 0 ? found->name + 5 : found->name;
}

/* ---- Inputs of record_param_comms ---- */

/* Inputs of the longest form. */
#define COMMS_INPUTS 10

unsigned comms_items_read(struct input_text list, struct input_text *items, unsigned most) {
    struct list_cursor cursor = {list.at, list.at + list.length};
    unsigned n = 0;
    if (list.length == 0 || *list.at != '[')
        return 0;
    for (bool more = list_enter(&cursor) && list_first(&cursor); more && n < most; more = list_more(&cursor)) {
        const char *begin = cursor.at;
        list_skip_value(&cursor);
        items[n++] = (struct input_text){begin, (size_t)(cursor.at - begin)};
    }
    return n;
}

static bool is_quoted(struct input_text item) {
    return item.length >= 2 && (*item.at == '\'' || *item.at == '"');
}

/* The text between quotes; other texts are returned unchanged. */
static struct input_text unquoted(struct input_text item) {
    return is_quoted(item) ? (struct input_text){item.at + 1, item.length - 2} : item;
}

/* The number of at most `most` digits at the beginning of the text; *n: its digits. */
static int64_t read_digits(struct input_text text, size_t most, size_t *n) {
    int64_t number = 0;
    for (*n = 0; *n < text.length && *n < most && text.at[*n] >= '0' && text.at[*n] <= '9'; (*n)++)
        number = number * 10 + (text.at[*n] - '0');
    return *n > 0 ? number : RANK_NOT_RECORDED;
}

int64_t comms_rank_read(struct input_text text) {
    size_t n;
    return read_digits(text, 9, &n);
}

bool comms_inputs_read(struct input_text list, struct comms_inputs *inputs) {
    struct input_text items[COMMS_INPUTS], pair[1];
    *inputs = (struct comms_inputs){.seq = RANK_NOT_RECORDED,
                                    .rank = RANK_NOT_RECORDED,
                                    .size = RANK_NOT_RECORDED,
                                    .start = RANK_NOT_RECORDED,
                                    .step = RANK_NOT_RECORDED};
    const unsigned n = comms_items_read(list, items, COMMS_INPUTS), name = n > 3 && is_quoted(items[3]) ? 3 : 4;
    if (n <= name || !is_quoted(items[name]))
        return false;
    size_t n_digits;
    inputs->name = unquoted(items[name]);
    inputs->rank = comms_rank_read(items[name - 1]);
    inputs->group = unquoted(comms_items_read(items[name - 2], pair, 1) ? pair[0] : items[name - 2]);
    inputs->seq = read_digits(items[name - 3], 18, &n_digits);
    if (name + 4 < n) {
        inputs->start = comms_rank_read(items[name + 3]);
        inputs->step = comms_rank_read(items[name + 4]);
    }
    if (name + 5 < n)
        inputs->size = comms_rank_read(items[name + 5]);
    else if (name + 4 == n)
        inputs->size = comms_rank_read(items[name + 3]);
    read_digits(items[name - 2], 18, &n_digits);
    inputs->has_address = name + 4 == n && n_digits > 0 && n_digits == items[name - 2].length;
    return true;
}

bool comms_inputs_name_own_rank(const struct comms_inputs *inputs) {
    switch (collective_kind_read(inputs->name.at, inputs->name.length, COLLECTIVES_OF_CHAKRA_CONVERTER)) {
    case COMM_ALL_REDUCE:
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
    case COMM_ALL_TO_ALL:
        return true;
    default:
        return false;
    }
}
