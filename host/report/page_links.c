/*
 * page_links.c - reads the pages of a directory, and replaces their lists of links.
 */
#include "report/page_links.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "write/text_file.h"

/* No page of ours is larger. */
#define PAGE_BYTES_MOST (4 << 20)

static const struct {
    const char *name, *title;
} kinds[] = {{PAGE_FIRST, "Findings"},   {PAGE_HTA, "HTA tables"},          {PAGE_OPERATORS, "Operators"},
             {PAGE_KERNELS, "Kernels"},  {PAGE_COLLECTIVES, "Collectives"}, {PAGE_DLRM, "CPU overheads"},
             {PAGE_MEMORY, "GPU memory"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* The pages that are there, and where their lists are. */
struct pages {
    struct buffer text[N_KINDS];
    size_t begin[N_KINDS], end[N_KINDS]; /* equal to 0 both where there is no page of ours */
    struct buffer list;
    int kind; /* which is written */
};

static bool read_all(int file, struct buffer *text) {
    struct stat found;
    if (fstat(file, &found) || !S_ISREG(found.st_mode) || found.st_size > PAGE_BYTES_MOST)
        return true;
    size_t n = (size_t)found.st_size;
    char *to = buffer_reserve(text, n + 1);
    ssize_t got = 1;
    while (to && text->length < n && got > 0)
        if ((got = read(file, to + text->length, n - text->length)) > 0)
            text->length += (size_t)got;
    if (to)
        to[text->length] = '\0';
    return to != NULL;
}

/* Looks for a page; false: out of memory. One that cannot be read, or that has no list, is not one of ours. */
static bool look_for(struct pages *pages, const char *folder, int kind) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s.html", folder, kinds[kind].name) < 0)
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (file < 0)
        return true;
    struct buffer *text = &pages->text[kind];
    bool done = read_all(file, text);
    close(file);
    const char *begin = done && text->bytes ? strstr(text->bytes, PAGE_LINKS_BEGIN) : NULL;
    const char *end = begin ? strstr(begin, PAGE_LINKS_END) : NULL;
    if (end) {
        pages->begin[kind] = (size_t)(begin - text->bytes) + strlen(PAGE_LINKS_BEGIN);
        pages->end[kind] = (size_t)(end - text->bytes);
    }
    return done;
}

void page_link_write(struct text_out *out, const char *kind) {
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            out_format(out, "<li><a href=\"%s.html\">%s</a></li>", kinds[i].name, kinds[i].title);
}

/* What the list of a page should be. */
static void make_list(struct pages *pages, int kind) {
    struct text_out out = {.out = pages->list};
    out.out.length = 0;
    for (int other = 0; other < N_KINDS; other++)
        if (other != kind && pages->end[other])
            page_link_write(&out, kinds[other].name);
    pages->kind = kind;
    pages->list = out.out;
}

static bool is_listed(const struct pages *pages, int kind) {
    return pages->end[kind] - pages->begin[kind] == pages->list.length &&
           (pages->list.length == 0 ||
            memcmp(pages->text[kind].bytes + pages->begin[kind], pages->list.bytes, pages->list.length) == 0);
}

static bool write_page(const void *of, struct text_out *out) {
    const struct pages *pages = of;
    const struct buffer *text = &pages->text[pages->kind];
    size_t end = pages->end[pages->kind];
    buffer_append(&out->out, text->bytes, pages->begin[pages->kind]);
    buffer_append(&out->out, pages->list.bytes, pages->list.length);
    buffer_append(&out->out, text->bytes + end, text->length - end);
    return !out->out.failed;
}

/* A page that cannot be replaced, as one that is read-only, stays as it is, which is told: nothing else depends on
 * it. */
static enum sutra_status set_list(struct pages *pages, struct sutra_context *context, const char *folder, int kind,
                                  struct sutra_error *error) {
    char name[64], text[sizeof(struct sutra_error)];
    uint64_t n_bytes = 0;
    struct sutra_error why;
    make_list(pages, kind);
    if (pages->list.failed)
        return error_memory(error);
    if (is_listed(pages, kind))
        return SUTRA_OK;
    snprintf(name, sizeof name, "%s.html", kinds[kind].name);
    enum sutra_status status = text_file_write_in(context, folder, name, write_page, pages, &n_bytes, &why);
    if (status == SUTRA_OK || status == SUTRA_SYSTEM || status == SUTRA_CANCELLED)
        return error_hand_on(error, status, &why);
    sutra_error_text(&why, text, sizeof text);
    context_warn(context, "%s; this page has no links to the other pages of its directory", text);
    return SUTRA_OK;
}

enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error) {
    struct pages pages = {0};
    enum sutra_status status = SUTRA_OK;
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (!look_for(&pages, folder, kind))
            status = error_memory(error);
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (pages.end[kind])
            status = set_list(&pages, context, folder, kind, error);
    for (int kind = 0; kind < N_KINDS; kind++)
        buffer_free(&pages.text[kind]);
    buffer_free(&pages.list);
    return status;
}
