/*
 * error.c - implements error.h and options.h, for the structs of the public interface, and the text of an error.
 */
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/shared.h"

static void fill(struct sutra_error *error, enum sutra_status status, const char *file, const char *format,
                 va_list arguments) {
    if (!error)
        return;
    error->status = status;
    error->offset = SUTRA_NO_OFFSET;
    error->line = 0;
    error->os_error = 0;
    size_t length = strlen(file);
    size_t skip = length >= sizeof error->file ? length - sizeof error->file + 1 : 0;
    memcpy(error->file, file + skip, length - skip + 1);
    vsnprintf(error->message, sizeof error->message, format, arguments);
}

enum sutra_status error_set(struct sutra_error *error, enum sutra_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, "", format, arguments);
    va_end(arguments);
    return status;
}

enum sutra_status error_file(struct sutra_error *error, enum sutra_status status, const char *file, const char *format,
                             ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, file, format, arguments);
    va_end(arguments);
    return status;
}

enum sutra_status error_os(struct sutra_error *error, enum sutra_status status, const char *file, int os_error,
                           const char *what) {
    error_file(error, status, file, "%s%s%s", what, *what ? ": " : "", strerror(os_error));
    if (error)
        error->os_error = os_error;
    return status;
}

enum sutra_status error_name_file(struct sutra_error *error, enum sutra_status status, const char *file) {
    if (status != SUTRA_DATA || !error || error->file[0])
        return status;
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    return error_file(error, status, file, "%s", message);
}

void sutra_error_text(const struct sutra_error *error, char *text, uint64_t size) {
    if (size == 0)
        return;
    const char *colon = error->file[0] ? ": " : "";
    if (error->offset == SUTRA_NO_OFFSET)
        snprintf(text, size, "%s%s%s", error->file, colon, error->message);
    else if (error->line == 0)
        snprintf(text, size, "%s%sbyte %" PRIu64 ": %s", error->file, colon, error->offset, error->message);
    else
        snprintf(text, size, "%s%sbyte %" PRIu64 ", line %" PRIu64 ": %s", error->file, colon, error->offset,
                 error->line, error->message);
}

/* ---- Structs with a size ---- */

static size_t size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

enum sutra_status options_copy(const struct options_form *form, const void *given, void *taken,
                               struct sutra_error *error) {
    size_t size = given ? size_of(given) : form->size;
    const char *bytes = given;
    if (size < form->first)
        return error_set(error, SUTRA_USAGE, "struct %s: its size is %zu, at least %zu is required", form->name, size,
                         form->first);
    for (size_t i = form->size; i < size; i++)
        if (bytes[i])
            return error_set(error, SUTRA_USAGE,
                             "struct %s: byte %zu is set, which needs a later version of this library", form->name, i);
    memset(taken, 0, form->size);
    if (given)
        memcpy(taken, given, MIN(size, form->size));
    memcpy(taken, &form->size, sizeof form->size);
    return SUTRA_OK;
}

void report_give(void *report, const void *ours, size_t size) {
    size_t wanted = report ? size_of(report) : 0, head = sizeof wanted;
    if (wanted <= head)
        return;
    size_t known = MIN(wanted, size);
    memcpy((char *)report + head, (const char *)ours + head, known - head);
    memset((char *)report + known, 0, wanted - known);
}
