/*
 * collectives.c - the table of names of collectives.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "facts/collectives.h"
#include "facts/op_inputs.h"

const char *const collective_kind_names[N_COMM_KINDS] = {
#define COMM_NAME(number, name) name,
    COMM_KINDS(COMM_NAME)
#undef COMM_NAME
};

/* Words of names, without "_", "-" and capitals; the first that a name has counts. */
static const struct {
    const char *word;
    enum comm_kind kind;
} kind_words[] = {
    {"allreduce", COMM_ALL_REDUCE},   {"crossdevicereduce", COMM_ALL_REDUCE},
    {"allgather", COMM_ALL_GATHER},   {"reducescatter", COMM_REDUCE_SCATTER},
    {"alltoallv", COMM_ALL_TO_ALL_V}, {"alltoall", COMM_ALL_TO_ALL},
    {"broadcast", COMM_BROADCAST},    {"barrier", COMM_BARRIER},
    {"gather", COMM_GATHER},          {"scatter", COMM_SCATTER},
    {"reduce", COMM_REDUCE},          {"send", COMM_MESSAGE},
    {"recv", COMM_MESSAGE},           {"message", COMM_MESSAGE},
};

/* So much of a name is looked at: a kernel's own name, not its arguments. */
#define NAME_LOOKED_AT 128

enum comm_kind collective_kind_of(const char *name) {
    char plain[NAME_LOOKED_AT];
    size_t n = 0;
    for (; *name && n + 1 < sizeof plain; name++)
        if (*name != '_' && *name != '-')
            plain[n++] = (char)tolower((unsigned char)*name);
    plain[n] = 0;
    for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
        if (strstr(plain, kind_words[i].word))
            return kind_words[i].kind;
    return COMM_OTHER;
}

bool collective_ends_at_once(enum comm_kind kind) {
    return kind <= COMM_ALL_TO_ALL || kind == COMM_BARRIER;
}

bool collective_sizes_differ(const char *name) {
    enum comm_kind kind = collective_kind_of(name);
    return kind == COMM_ALL_TO_ALL_V || kind == COMM_GATHER || kind == COMM_SCATTER || strstr(name, "coalesced");
}

int64_t collective_elements(enum comm_kind kind, int64_t n_in, int64_t n_out, int64_t n_ranks) {
    int64_t larger = n_in > n_out ? n_in : n_out, whole;
    bool parts = kind == COMM_GATHER || kind == COMM_SCATTER;
    int64_t part = n_in < n_out ? n_in : n_out;
    if (kind == COMM_ALL_GATHER)
        return n_out > 0 ? n_out : larger;
    if (!parts || part <= 0 || __builtin_mul_overflow(part, n_ranks, &whole))
        return larger;
    return whole > larger ? whole : larger;
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

/* ---- Types ---- */

unsigned collective_type_bytes(const char *type) {
    static const struct {
        const char *name, *of;
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
    const char *of = type;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(type, scalars[i].name) == 0)
            of = scalars[i].of;
    if (strncmp(type, "Float8_", strlen("Float8_")) == 0)
        return 1;
    const struct data_type *found =
        data_type_find(of, strlen(of)); /* Float, Double, Int, Char, Bool are there as they are */
    return found ? found->bytes : 0;
}
