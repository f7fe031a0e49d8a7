/*
 * trace_facts.c - a table of the members that tell something, and their values as text.
 */
#include "link/trace_facts.h"

#include <stdio.h>

/* A member of the file, or of an object (of a list of objects the first) that is one. */
static const struct member_row {
    const char *outer, *name; /* `name` is NULL for a member of the file */
    const char *fact, *words;
} members[] = {
    {"distributedInfo", "rank", "rank", "rank"},
    {"distributedInfo", "world_size", "world_size", "ranks in the job"},
    {"distributedInfo", "backend", "backend", "backend"},
    {"distributedInfo", "nccl_version", "nccl_version", "NCCL version"},
    {"deviceProperties", "name", "gpu", "GPU"},
    {"pytorch_version", NULL, "pytorch_version", "PyTorch version"},
    {"cuda_runtime_version", NULL, "cuda_runtime_version", "CUDA runtime version"},
};

/* Options of the profiler, which are 1 where they were on. */
static const struct {
    const char *name, *words;
} recorded[] = {
    {"record_shapes", "shapes"},  {"with_stack", "stacks"},    {"profile_memory", "memory"},
    {"with_flops", "operations"}, {"with_modules", "modules"},
};

static size_t skip_space(const char *text, size_t at) {
    return at + strspn(text + at, " \t\r\n");
}

/* Where the object at a member begins, or the first of a list of them. */
static size_t object_at(const struct document *document, size_t at) {
    const char *text = document->source.bytes;
    return text[at] == '[' ? skip_space(text, at + 1) : at;
}

/* A string without its quotes, or a number, as it stands in the file; empty for all else. */
static void value_text(const struct document *document, size_t at, char *to, size_t size) {
    const char *text = document->source.bytes + at;
    size_t length = *text == '"' ? strcspn(text + 1, "\"") : strspn(text, "+-.0123456789eE");
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), text + (*text == '"'));
}

static size_t member_at(const struct document *document, const struct member_row *row) {
    const struct document_member *outer = document_find(document, row->outer);
    if (!outer || !row->name)
        return outer ? outer->value : 0;
    size_t at = object_at(document, outer->value);
    return document->source.bytes[at] == '{' ? document_member_of(document, at, row->name).at : 0;
}

static void list_recorded(const struct document *document, char *to, size_t size) {
    *to = 0;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const struct document_member *member = document_find(document, recorded[i].name);
        size_t length = strlen(to);
        if (member && document->source.bytes[member->value] == '1')
            snprintf(to + length, size - length, "%s%s", length ? ", " : "", recorded[i].words);
    }
}

void trace_facts_take(const struct document *document, struct sutra_device_summary *summary) {
    struct sutra_trace_fact *facts = summary->facts;
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        size_t at = member_at(document, &members[i]);
        facts[n] = (struct sutra_trace_fact){.name = members[i].fact, .words = members[i].words};
        if (at)
            value_text(document, at, facts[n].text, sizeof facts[n].text);
        n += *facts[n].text != 0;
    }
    facts[n] = (struct sutra_trace_fact){.name = "recorded", .words = "recorded"};
    list_recorded(document, facts[n].text, sizeof facts[n].text);
    summary->n_facts = n + (*facts[n].text != 0);
}
