#include "base/error.h"
#include "tree/profile.h"
enum sutra_status sutra_profile_take(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_host_trace *host, const struct sutra_profile_options *options,
                                     struct sutra_profile **profile, struct sutra_error *error) {
    (void)context;
    (void)trace;
    (void)host;
    (void)options;
    (void)profile;
    return error_memory(error);
}
