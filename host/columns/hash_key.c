/*
 * hash_key.c - draws the key of the process's tables before anything is put into one.
 */
#include "columns/hash.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct hash_key hash_key;

/* Where the system has no random bytes: what nobody can know who wrote the file. */
static void draw_from_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
    hash_key.first = hash_fold(seed ^ (uintptr_t)&now, 0x9e3779b97f4a7c15u);
    hash_key.second = hash_fold(hash_key.first ^ (uintptr_t)&hash_key, 0xe7037ed1a0b428dbu);
    hash_key.last = hash_fold(hash_key.second, 0x8ebc6af09c88c6e3u);
}

/* Before constructors that name no priority. */
__attribute__((constructor(101))) static void draw(void) {
    if (getrandom(&hash_key, sizeof hash_key, GRND_NONBLOCK) != (ssize_t)sizeof hash_key)
        draw_from_clock();
}
