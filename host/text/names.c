/*
 * names.c - implements names.h. Names with equal short forms are sorted, so that neighbours show where a name differs.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "text/names.h"
#include "text/strings.h"

/* ---- Names of C++ functions, parsed as spans of the text: no tree, no recursion ---- */

/* Deepest nesting of template arguments that is searched for a functor. */
#define LEVELS 8

struct name_span {
    const char *begin, *end;
};

/* Text that is truncated at KERNEL_NAME_MAX. */
struct reduced {
    char *text;
    size_t length;
};

static void add(struct reduced *reduced, const char *text, size_t length) {
    size_t room = KERNEL_NAME_MAX - 1 - reduced->length;
    length = MIN(length, room);
    memcpy(reduced->text + reduced->length, text, length);
    reduced->length += length;
    reduced->text[reduced->length] = '\0';
}

static size_t length_of(struct name_span span) {
    return (size_t)(span.end - span.begin);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins_with(struct name_span span, const char *text) {
    return text_begins_with(span.begin, length_of(span), text);
}

static bool is_text(struct name_span span, const char *text) {
    return length_of(span) == strlen(text) && begins_with(span, text);
}

static struct name_span trimmed(struct name_span span) {
    while (span.begin < span.end && *span.begin == ' ')
        span.begin++;
    while (span.end > span.begin && span.end[-1] == ' ')
        span.end--;
    return span;
}

/* ---- Brackets ---- */

/* The byte after the character at `at`, or after its closing bracket; an unclosed bracket ends with the span. */
static const char *skip_bracket(const char *at, const char *end) {
    unsigned depth = 0;
    for (; at < end; at++) {
        if (strchr("<({[", *at))
            depth++;
        else if (strchr(">)}]", *at) && depth > 0 && at[-1] != '-')
            depth--;
        if (depth == 0)
            return at + 1;
    }
    return end;
}

static bool is_anonymous(const char *at, const char *end) {
    return begins_with((struct name_span){at, end}, "(anonymous namespace)");
}

/* Removes the first argument from a list; false: the list is empty. */
static bool next_argument(struct name_span *list, struct name_span *argument) {
    if (list->begin >= list->end)
        return false;
    const char *at = list->begin;
    while (at < list->end && *at != ',')
        at = skip_bracket(at, list->end);
    *argument = trimmed((struct name_span){list->begin, at});
    list->begin = at < list->end ? at + 1 : at;
    return true;
}

/* ---- Parts of a name ---- */

/* A component of a path: a word and its template arguments. */
struct component {
    struct name_span word, arguments;
    struct name_span lambda; /* parameters of the last lambda within the function of this name */
};

/* The word, with the previous one if the word is generic: "gemvx::kernel". */
static struct name_span specific_word(struct name_span path, struct name_span word) {
    size_t skipped = MIN(length_of(word), 6);
    struct name_span rest = {word.begin + skipped, word.end};
    bool generic = begins_with(word, "kernel") || begins_with(word, "Kernel");
    while (generic && rest.begin < rest.end)
        generic = isdigit((unsigned char)*rest.begin++);
    const char *at = word.begin - 2;
    if (!generic || at <= path.begin || !is_word(at[-1]))
        return word;
    while (at > path.begin && is_word(at[-1]))
        at--;
    return (struct name_span){at, word.end};
}

/* The last component of a path that is neither a lambda nor a call's operator. */
static struct component last_component(struct name_span path) {
    struct component last = {.word = {path.begin, path.begin}};
    for (const char *at = path.begin; at < path.end;) {
        const char *from = at;
        while (at < path.end && is_word(*at))
            at++;
        struct name_span word = {from, at};
        if (at > from && !is_text(word, "operator") && !is_text(word, "const")) {
            last = (struct component){.word = word};
            if (at < path.end && *at == '<') {
                const char *close = skip_bracket(at, path.end);
                bool closed = close[-1] == '>';
                last.arguments = (struct name_span){at + 1, closed ? close - 1 : close};
                at = close;
            }
        } else if (at < path.end && *at == '{') {
            const char *open = memchr(at, '(', (size_t)(path.end - at));
            const char *close = open ? skip_bracket(open, path.end) : NULL;
            last.lambda = (struct name_span){0};
            if (open)
                last.lambda = (struct name_span){open + 1, close > open + 1 ? close - 1 : close};
        }
        if (at < path.end)
            at = skip_bracket(at, path.end);
    }
    last.word = specific_word(path, last.word);
    return last;
}

/* Without return type and parameters; false: it has neither these nor a template's arguments. */
static bool function_path(const char *name, struct name_span *path) {
    const char *end = name + strlen(name), *at = name;
    bool is_function = strncmp(name, "void ", 5) == 0;
    *path = (struct name_span){name, end};
    while (at < end) {
        if (*at == '(' && !is_anonymous(at, end) && at > path->begin) {
            is_function |= skip_bracket(at, end) == end || strstr(at, "[clone");
            path->end = at;
            break;
        }
        is_function |= *at == '<' && at > path->begin && is_word(at[-1]);
        if (*at == ' ')
            path->begin = at + 1;
        at = skip_bracket(at, end);
    }
    return is_function && path->begin < path->end && (is_word(*path->begin) || *path->begin == '(');
}

/* ---- Functors ---- */

static struct name_span without_namespaces(struct name_span argument) {
    for (const char *at = argument.begin; at < argument.end; at = skip_bracket(at, argument.end))
        if (*at == ':' && at + 1 < argument.end && at[1] == ':')
            argument.begin = ++at + 1;
        else if (*at == '<' || *at == '{' || (*at == '(' && !is_anonymous(at, argument.end)))
            break;
    return argument;
}

/* Numbers, values of enums, number types and data structures. */
static bool is_data(struct name_span argument) {
    static const char *const types[] = {
        "bool",    "char",     "short",  "int",    "long",  "float",       "double",       "half",
        "void",    "unsigned", "signed", "true",   "false", "Half",        "__half",       "complex",
        "Array",   "array",    "BFloat", "bfloat", "Float", "__nv_bfloat", "__hip_bfloat", "OffsetCalculator",
        "_Float_", NULL};
    struct name_span word = without_namespaces(argument);
    if (word.begin == word.end || !(isalpha((unsigned char)*word.begin) || *word.begin == '_'))
        return true;
    const char *at = word.begin;
    while (at < word.end && is_word(*at))
        at++;
    word.end = at;
    if (begins_with(word, "cublas") || begins_with(word, "Float8"))
        return true;
    for (size_t i = 0; i < 2; i++) {
        const char *suffix = i ? "Metadata" : "Params";
        size_t length = strlen(suffix);
        if (length_of(word) >= length && memcmp(word.end - length, suffix, length) == 0)
            return true;
    }
    while (word.end > word.begin && isdigit((unsigned char)word.end[-1]))
        word.end--;
    for (size_t i = 0; types[i]; i++)
        if (is_text(word, types[i]))
            return true;
    return false;
}

/* The innermost functor of the first arguments; false: none. */
static bool find_functor(struct name_span arguments, struct component *functor) {
    struct name_span argument;
    bool found = false;
    for (unsigned level = 0; level < LEVELS && next_argument(&arguments, &argument);) {
        if (is_data(argument))
            continue;
        struct component component = last_component(argument);
        if (length_of(component.word) == 0)
            continue;
        *functor = component;
        arguments = component.arguments;
        found = true;
        level++;
    }
    return found;
}

/* ---- Writing ---- */

/* Arguments without their namespaces. */
static void add_arguments(struct reduced *reduced, struct name_span arguments) {
    for (const char *at = arguments.begin; at < arguments.end;) {
        if (is_anonymous(at, arguments.end)) {
            at += strlen("(anonymous namespace)");
            continue;
        }
        const char *from = at;
        while (at < arguments.end && is_word(*at))
            at++;
        if (at + 1 < arguments.end && at[0] == ':' && at[1] == ':') {
            at += 2;
            continue;
        }
        at += at == from;
        add(reduced, from, (size_t)(at - from));
    }
}

static void add_in_brackets(struct reduced *reduced, const char *brackets, struct name_span arguments) {
    add(reduced, brackets, 1);
    add_arguments(reduced, trimmed(arguments));
    add(reduced, brackets + 1, 1);
}

static void add_component(struct reduced *reduced, const struct component *component) {
    add(reduced, component->word.begin, length_of(component->word));
    if (length_of(component->arguments) > 0)
        add_in_brackets(reduced, "<>", component->arguments);
    else if (length_of(component->lambda) > 0)
        add_in_brackets(reduced, "()", component->lambda);
}

/* Of "vectorized_elementwise_kernel" the informative part: "elementwise". */
static struct name_span shape_of(struct name_span word) {
    static const char *const manners[] = {"vectorized_", "unrolled_"};
    static const char kernel[] = "_kernel";
    size_t n_kernel = sizeof kernel - 1;
    if (length_of(word) > n_kernel && memcmp(word.end - n_kernel, kernel, n_kernel) == 0)
        word.end -= n_kernel;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        if (begins_with(word, manners[i]) && length_of(word) > strlen(manners[i]))
            word.begin += strlen(manners[i]);
    return word;
}

static bool reduce(const char *name, struct reduced *reduced) {
    struct name_span path;
    struct component functor;
    if (!function_path(name, &path))
        return false;
    struct component function = last_component(path);
    if (length_of(function.word) == 0)
        return false;
    if (!find_functor(function.arguments, &functor)) {
        add_component(reduced, &function);
        return true;
    }
    struct name_span shape = shape_of(function.word);
    add(reduced, shape.begin, length_of(shape));
    add(reduced, " ", 1);
    add_component(reduced, &functor);
    return true;
}

/* ---- Mangled names ---- */

/* A word after its length, "3add"; false: none. */
static bool read_word(const char **at, struct name_span *word) {
    size_t length = 0;
    const char *digits = *at;
    while (isdigit((unsigned char)*digits) && length < UINT16_MAX)
        length = length * 10 + (size_t)(*digits++ - '0');
    if (length == 0 || strnlen(digits, length) < length)
        return false;
    *word = (struct name_span){digits, digits + length};
    *at = word->end;
    return true;
}

/* Skips the substitutions "St", "S_" or "S1A_". */
static const char *skip_substitution(const char *at) {
    if (at[0] != 'S')
        return at;
    const char *end = at + 1;
    while (isdigit((unsigned char)*end) || isupper((unsigned char)*end))
        end++;
    return *end == '_' || (*end == 't' && end == at + 1) ? end + 1 : at;
}

/* The last word of a path; false: none. */
static bool read_path(const char **at, struct name_span *word) {
    bool nested = **at == 'N', found = false;
    *at += nested;
    while (strchr("KVr", **at) && **at)
        ++*at;
    *at = skip_substitution(*at);
    while (read_word(at, word)) {
        found = true;
        if (!nested)
            return true;
    }
    if (nested && **at == 'E')
        ++*at;
    return found;
}

static const char *read_type(const char **at) {
    static const struct {
        const char *code, *type;
    } types[] = {{"DF16b", "bfloat16"},  {"DF16_", "_Float16"}, {"Dh", "half"},
                 {"b", "bool"},          {"c", "char"},         {"a", "signed char"},
                 {"h", "unsigned char"}, {"s", "short"},        {"t", "unsigned short"},
                 {"i", "int"},           {"j", "unsigned int"}, {"l", "long"},
                 {"m", "unsigned long"}, {"x", "long long"},    {"y", "unsigned long long"},
                 {"f", "float"},         {"d", "double"},       {"v", "void"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].code);
        if (strncmp(*at, types[i].code, length) == 0) {
            *at += length;
            return types[i].type;
        }
    }
    return NULL;
}

/* "Li256E", "Lb0E" */
static bool read_literal(const char **at, struct reduced *reduced) {
    bool truth = (*at)[1] == 'b';
    const char *from = *at + 1;
    if (!read_type(&from))
        return false;
    const char *end = from + (*from == 'n');
    while (isdigit((unsigned char)*end))
        end++;
    if (*end != 'E')
        return false;
    if (truth)
        add(reduced, *from == '0' ? "false" : "true", *from == '0' ? 5 : 4);
    else
        add(reduced, *from == 'n' ? "-" : "", *from == 'n');
    if (!truth)
        add(reduced, from + (*from == 'n'), (size_t)(end - from - (*from == 'n')));
    *at = end + 1;
    return true;
}

/* One argument; false: not supported. */
static bool read_argument(const char **at, struct reduced *reduced) {
    struct name_span word;
    if (**at == 'L')
        return read_literal(at, reduced);
    const char *type = read_type(at);
    if (type) {
        add(reduced, type, strlen(type));
        return true;
    }
    if (!read_path(at, &word))
        return false;
    add(reduced, word.begin, length_of(word));
    return **at != 'I';
}

static bool demangle(const char *name, struct reduced *reduced) {
    const char *at = name + 2;
    struct name_span word;
    if (strncmp(name, "_Z", 2) != 0 || !read_path(&at, &word))
        return false;
    add(reduced, word.begin, length_of(word));
    if (*at != 'I')
        return true;
    at++;
    for (const char *before = "<"; *at && *at != 'E'; before = ", ") {
        add(reduced, before, strlen(before));
        if (!read_argument(&at, reduced)) {
            add(reduced, "..", 2);
            break;
        }
    }
    add(reduced, ">", 1);
    return true;
}

bool kernel_name_reduce(const char *name, char text[KERNEL_NAME_MAX]) {
    struct reduced reduced = {.text = text};
    char plain[KERNEL_NAME_MAX];
    struct reduced demangled = {.text = plain};
    bool mangled = demangle(name, &demangled);
    text[0] = '\0';
    if (mangled)
        name = plain;
    if (!reduce(name, &reduced))
        add_arguments(&reduced, (struct name_span){name, name + strlen(name)});
    return mangled || reduced.length < strlen(name);
}

/* ---- Edit distance, a swap of neighbouring letters counts as one; O(typed * candidate). Of words longer than WORD_MAX
 * only the prefix is compared. ---- */

#define WORD_MAX 100

/* A candidate that begins with at least PREFIX_MIN typed letters has PREFIX_DISTANCE. */
#define PREFIX_MIN      3
#define PREFIX_DISTANCE 2

static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    uint8_t cost[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n_a; i++)
        cost[i][0] = (uint8_t)i;
    for (size_t j = 0; j <= n_b; j++)
        cost[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            size_t change = (size_t)cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t best = (size_t)MIN(cost[i - 1][j], cost[i][j - 1]) + 1;
            best = MIN(best, change);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                best = MIN(best, cost[i - 2][j - 2] + (size_t)1);
            cost[i][j] = (uint8_t)best;
        }
    return cost[n_a][n_b];
}

struct nearest nearest_to(const char *typed) {
    return (struct nearest){.typed = typed, .distance = strlen(typed) / 3 + 2};
}

void nearest_try(struct nearest *nearest, const char *candidate) {
    size_t n_typed = strlen(nearest->typed), n_candidate = strlen(candidate);
    size_t difference = n_typed > n_candidate ? n_typed - n_candidate : n_candidate - n_typed, found = SIZE_MAX;
    if (n_typed <= WORD_MAX && n_candidate <= WORD_MAX && difference < nearest->distance)
        found = distance(nearest->typed, n_typed, candidate, n_candidate);
    if (n_typed >= PREFIX_MIN && strncmp(nearest->typed, candidate, n_typed) == 0)
        found = MIN(found, PREFIX_DISTANCE);
    if (found >= nearest->distance || found >= n_candidate)
        return;
    nearest->distance = found;
    nearest->word = candidate;
}

#define DOTS      2 /* columns of ".." */
#define WIDTH_MIN 8
#define REST_MIN  12 /* columns of the differing part, before the beginning gets more than half */

/* Adds characters up to a column; returns where the rest begins. */
static const char *fill(struct shortened *shortened, const char *text, unsigned width) {
    size_t length = strlen(shortened->text);
    while (*text) {
        struct visible_character character;
        const char *next = visible_read(text, &character);
        if (shortened->n_columns + character.n_columns > width)
            break;
        memcpy(shortened->text + length, character.bytes, character.n_bytes);
        length += character.n_bytes;
        shortened->n_columns += character.n_columns;
        text = next;
    }
    shortened->text[length] = '\0';
    return text;
}

static unsigned columns_of(const char *text) {
    unsigned n = 0;
    struct visible_character character;
    while (*text && n <= SHORT_COLUMNS) {
        text = visible_read(text, &character);
        n += character.n_columns;
    }
    return n;
}

/* Adds a text up to a column; a longer text is cut and gets dots. */
static void fill_cut(struct shortened *shortened, const char *text, unsigned width) {
    bool fits = columns_of(text) <= width - shortened->n_columns;
    fill(shortened, text, fits ? width : width - DOTS);
    if (!fits)
        fill(shortened, "..", width);
}

struct shortened short_text(const char *text, unsigned width) {
    struct shortened shortened = {0};
    fill_cut(&shortened, text, CLAMP(width, WIDTH_MIN, SHORT_COLUMNS));
    return shortened;
}

struct shortened short_path(const char *path, unsigned width) {
    struct shortened shortened = {0};
    width = CLAMP(width, WIDTH_MIN, SHORT_COLUMNS);
    const char *at = path + strlen(path);
    unsigned n = 0;
    struct visible_character character;
    if (columns_of(path) <= width)
        at = path;
    while (at > path) {
        const char *before = at - 1;
        while (before > path && ((unsigned char)*before & 0xc0) == 0x80 && at - before < 4)
            before--;
        visible_read(before, &character);
        if (n + character.n_columns > width - DOTS)
            break;
        n += character.n_columns;
        at = before;
    }
    if (at > path)
        fill(&shortened, "..", width);
    fill(&shortened, at, width);
    return shortened;
}

struct shortened short_name(const char *name, unsigned width) {
    char reduced[KERNEL_NAME_MAX];
    bool shorter = columns_of(name) > CLAMP(width, WIDTH_MIN, SHORT_COLUMNS) && kernel_name_reduce(name, reduced);
    return short_text(shorter ? reduced : name, width);
}

struct shortened short_location(const char *name, unsigned width) {
    return strstr(name, ".py(") ? short_path(name, width) : short_name(name, width);
}

/* ---- Different names remain different ---- */

/* A distinct name with its first index; `shortened` is the result at this index. */
struct entry {
    const char *name;
    struct shortened *shortened;
    size_t index;
    const char *reduced; /* by kernel_name_reduce() */
    const char *text;    /* `reduced` or the name */
    size_t from;         /* offset at which the text differs from texts with the same short form */
};

ORDER_BY(compare_names, struct entry, ASCENDING_TEXT(name) ASCENDING(index))

static int compare_shorts(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = strcmp(x->shortened->text, y->shortened->text);
    order = order ? order : strcmp(x->text, y->text);
    return order ? order : strcmp(x->name, y->name);
}

static bool has_same_short_name(const struct entry *a, const struct entry *b) {
    return strcmp(a->shortened->text, b->shortened->text) == 0;
}

/* The beginning of the word or number at `at`, if it is not long. */
static size_t begin_of_word(const char *name, size_t at) {
    enum { LONG = 12 };
    size_t begin = at;
    while (begin > 0 && at - begin < LONG && isalnum((unsigned char)name[begin - 1]))
        begin--;
    while (begin > 0 && ((unsigned char)name[begin] & 0xc0) == 0x80)
        begin--;
    return begin;
}

/* Shortens to the beginning of the reduced name, or all of it if there is room, and the differing part. */
static void show_difference(struct entry *entry, size_t i, unsigned width) {
    (void)i;
    const char *rest = entry->text + entry->from;
    unsigned n_rest = columns_of(rest), n_head = width / 2, n_reduced = columns_of(entry->reduced);
    if (n_rest == 0 && entry->text == entry->reduced)
        return;
    if (width >= n_reduced + DOTS + REST_MIN)
        n_head = n_reduced;
    else if (n_rest + DOTS + n_head < width)
        n_head = width - DOTS - n_rest;
    struct shortened made = {0};
    fill(&made, entry->reduced, n_head);
    fill(&made, "..", width);
    fill_cut(&made, rest, width);
    *entry->shortened = made;
}

static void number(struct entry *entry, size_t i, unsigned width) {
    char suffix[24];
    unsigned length = (unsigned)snprintf(suffix, sizeof suffix, " #%zu", i + 1);
    struct shortened made = {0};
    if (length + DOTS <= width)
        fill_cut(&made, entry->shortened->text, width - length);
    fill(&made, suffix, width);
    *entry->shortened = made;
}

/* Calls a function for each name whose short form is not unique; returns the number of these names. */
static size_t for_each_ambiguous(struct entry *entries, size_t n, unsigned width,
                                 void (*call)(struct entry *, size_t, unsigned)) {
    size_t n_ambiguous = 0;
    qsort(entries, n, sizeof *entries, compare_shorts);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && has_same_short_name(&entries[begin], &entries[end]);)
            end++;
        for (size_t i = begin; i < end && end > begin + 1; i++, n_ambiguous++)
            if (call)
                call(&entries[i], i, width);
    }
    return n_ambiguous;
}

/* Finds the offset at which each text differs from its sorted neighbours with the same short form. */
static void find_differences(struct entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++)
        entries[i].from = 0;
    qsort(entries, n, sizeof *entries, compare_shorts);
    for (size_t i = 1; i < n; i++) {
        if (!has_same_short_name(&entries[i - 1], &entries[i]))
            continue;
        const char *a = entries[i - 1].text, *b = entries[i].text;
        size_t common = 0;
        while (a[common] && a[common] == b[common])
            common++;
        for (size_t k = i - 1; k <= i; k++)
            entries[k].from = MAX(common, entries[k].from);
    }
    for (size_t i = 0; i < n; i++)
        entries[i].from = begin_of_word(entries[i].text, entries[i].from);
}

/* Shows differences of the reduced names, then of the names; each twice, since a difference may be shared. At last,
 * adds numbers. */
static void separate_names(struct entry *entries, size_t n, unsigned width) {
    for (int turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < n; i++)
            entries[i].text = turn < 2 ? entries[i].reduced : entries[i].name;
        find_differences(entries, n);
        for_each_ambiguous(entries, n, width, show_difference);
    }
    for_each_ambiguous(entries, n, width, number);
    if (for_each_ambiguous(entries, n, width, NULL) == 0)
        return;
    for (size_t i = 0; i < n; i++) /* a name ends with the number of another one */
        number(&entries[i], i, width);
}

void short_names(const char *const *names, size_t n, unsigned width, struct shortened *shorts) {
    struct entry *entries = calloc(n + 1, sizeof *entries);
    size_t *first = calloc(n + 1, sizeof *first);
    char(*reduced)[KERNEL_NAME_MAX] = calloc(n + 1, sizeof *reduced);
    bool ok = entries && first && reduced;
    width = CLAMP(width, WIDTH_MIN, SHORT_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        shorts[i] = short_name(names[i], width);
        if (!ok)
            continue;
        bool is_reduced = kernel_name_reduce(names[i], reduced[i]);
        entries[i] = (struct entry){.name = names[i], .shortened = &shorts[i], .index = i};
        entries[i].reduced = is_reduced ? reduced[i] : names[i];
    }
    if (ok) {
        /* Keep each name once; first[i] is the first index of the name at index i. */
        size_t n_kept = 0;
        qsort(entries, n, sizeof *entries, compare_names);
        for (size_t i = 0; i < n; i++) {
            if (n_kept == 0 || strcmp(entries[n_kept - 1].name, entries[i].name) != 0)
                entries[n_kept++] = entries[i];
            first[entries[i].index] = entries[n_kept - 1].index;
        }
        separate_names(entries, n_kept, width);
        for (size_t i = 0; i < n; i++)
            shorts[i] = shorts[first[i]];
    }
    free(entries);
    free(first);
    free(reduced);
}
