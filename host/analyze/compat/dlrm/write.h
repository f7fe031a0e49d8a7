/*
 * write.h - writers of the files of sutra_dlrm_write(). They append to the text, whose buffer records a failure.
 */
#ifndef ANALYZE_COMPAT_DLRM_WRITE_H
#define ANALYZE_COMPAT_DLRM_WRITE_H

#include "analyze/compat/dlrm/dlrm.h"
#include "write/json.h"

void dlrm_write_overheads(const struct sutra_dlrm *dlrm, struct text_out *out);
void dlrm_write_overheads_file(const struct sutra_dlrm *dlrm, struct text_out *out);
void dlrm_write_overheads_raw(const struct sutra_dlrm *dlrm, struct text_out *out);
void dlrm_write_overheads_by_shape(const struct sutra_dlrm *dlrm, struct text_out *out);
void dlrm_write_launches(const struct sutra_dlrm *dlrm, struct text_out *out);
void dlrm_write_summary(const struct sutra_dlrm *dlrm, struct text_out *out);

/* The default of the model's name: the trace's file name without directories and extensions. */
const char *dlrm_model_of(const char *path, size_t *length);

static inline void json_text(struct json_out *json, const struct sutra_dlrm *dlrm, uint32_t text) {
    json_string(json, strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text));
}

static inline void json_text_key(struct json_out *json, const struct sutra_dlrm *dlrm, uint32_t text) {
    json_key(json, strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text));
}

static inline void json_shape(struct json_out *json, const struct sutra_dlrm *dlrm, uint32_t text) {
    json_list(json, strings_text(&dlrm->texts, text));
}

/* Members of the open object, besides those of json.h. */
static inline void member_number(struct json_out *json, const char *name, struct number value) {
    json_key(json, name, strlen(name));
    json_number(json, value);
}

static inline void member_text(struct json_out *json, const struct sutra_dlrm *dlrm, const char *name, uint32_t text) {
    json_key(json, name, strlen(name));
    json_text(json, dlrm, text);
}

static inline void member_shape(struct json_out *json, const struct sutra_dlrm *dlrm, const char *name, uint32_t text) {
    json_key(json, name, strlen(name));
    json_shape(json, dlrm, text);
}

#endif
