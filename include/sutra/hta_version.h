/*
 * hta_version.h - versions of Holistic Trace Analysis ("HTA") that sutra reproduces.
 */
#ifndef SUTRA_HTA_VERSION_H
#define SUTRA_HTA_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* HTA 0.5.0 or 0.6.1. Differences of 0.6.1: it classifies more kernels by name (a "Stream Wait Event" is not
 * computation); steps are events named ProfilerStep# and a number; it knows cuLaunchKernelEx. Its critical path
 * connects the backward thread to the forward thread, makes calls wait for the CUDA runtime's lock, and omits long gaps
 * between kernels. */
enum sutra_hta_version { SUTRA_HTA_VERSION_0_5, SUTRA_HTA_VERSION_0_6, SUTRA_HTA_N_VERSIONS };

/* Returns "0.5" or "0.6"; "" for invalid values. */
const char *sutra_hta_version_name(enum sutra_hta_version hta_version);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
