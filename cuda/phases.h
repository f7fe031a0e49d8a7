/*
 * phases.h - phases of a step on the GPU, for timing: phase(NAME, text).
 */
#ifndef CUDA_PHASES_H
#define CUDA_PHASES_H

#define GPU_PHASES(phase)                                                                                              \
    phase(UP, "up") phase(SORT, "sort") phase(PARENTS, "parents") phase(EXCLUSIVE, "exclusive") phase(ORDER, "order")  \
        phase(DOWN, "down") phase(OTHER, "other")

#define PHASE_NUMBER(name, text) GPU_##name,
enum gpu_phase { GPU_PHASES(PHASE_NUMBER) CUDA_PHASES };
#undef PHASE_NUMBER

#define PHASE_NAME(name, text) text,
#define PHASE_NAMES                                                                                                    \
    { GPU_PHASES(PHASE_NAME) }

#endif
