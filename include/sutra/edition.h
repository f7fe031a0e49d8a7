/*
 * edition.h - which edition of Holistic Trace Analysis is followed.
 */
#ifndef SUTRA_EDITION_H
#define SUTRA_EDITION_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* 0.5.0, or 0.6.1. The newer one knows more kinds of kernels by their names (a "Stream Wait Event" is no computation),
 * takes as steps what is called ProfilerStep# and a number, and knows cuLaunchKernelEx; its critical path joins the
 * backward thread to that of forward, has calls wait for the lock of CUDA's runtime, and leaves out long delays between
 * kernels. */
enum sutra_hta_edition { SUTRA_HTA_EDITION_0_5, SUTRA_HTA_EDITION_0_6, SUTRA_HTA_N_EDITIONS };

/* "0.5", "0.6"; "" for what is none. */
const char *sutra_hta_edition_name(enum sutra_hta_edition edition);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
