/*
 * tensor_groups.cu - ids of storages and tensors; in come uses of storages in order of time, out go for each use the
 * number of its storage and of its group.
 *
 * Uses of one address stand together after a sort; a storage begins with the first of them and behind each that frees.
 * Storages are numbered where they begin, in the order of rows. Uses of one tensor, likewise sorted, find its first
 * storage. Leaders are minima, and groups the numbers of those that lead themselves (match/event_rules.h): jumps along
 * leaders halve the way each time. O(n log n), 75 bytes a use.
 */
#include "cuda/atomic.h"
#include "cuda/bits.h"
#include "cuda/steps.h"

struct storage_columns {
    row_t n;
    const uint64_t *tensor, *storage;
    const uint32_t *device; /* may be NULL */
    const uint8_t *use;
    struct pairs pairs;
    row_t *head;    /* by place, then by row: the place, or the row, where its storage begins */
    row_t *numbers; /* by row: storages that begin up to here */
    uint32_t *number, *group;
    uint32_t *leader, *next_leader; /* by storage */
    row_t *selves;                  /* by storage: storages up to here that lead themselves */
    uint32_t *changed;
};

/* ---- Storages ---- */

SHARED void put_device(const struct storage_columns &c, row_t row) {
    c.pairs.keys[row] = c.device ? c.device[row] : 0;
    c.pairs.rows[row] = row;
}

SHARED void put_storage(const struct storage_columns &c, row_t place) {
    c.pairs.keys[place] = c.storage[c.pairs.rows[place]];
}

SHARED bool begins_storage(const struct storage_columns &c, row_t place) {
    if (place == 0)
        return true;
    row_t row = c.pairs.rows[place], before = c.pairs.rows[place - 1];
    return c.storage[row] != c.storage[before] || (c.device && c.device[row] != c.device[before]) ||
           c.use[before] == STORAGE_FREED;
}

SHARED void put_head(const struct storage_columns &c, row_t place) {
    bool begins = begins_storage(c, place);
    c.head[place] = begins ? place : 0;
    c.numbers[c.pairs.rows[place]] = begins;
}

SHARED void put_number(const struct storage_columns &c, row_t place) {
    c.number[c.pairs.rows[place]] = c.numbers[c.pairs.rows[c.head[place]]] - 1;
}

/* ---- Leaders ---- */

SHARED void put_tensor(const struct storage_columns &c, row_t row) {
    c.pairs.keys[row] = c.use[row] == STORAGE_INPUT ? c.tensor[row] : 0;
    c.pairs.rows[row] = row;
    c.leader[row] = STORAGE_NONE;
}

/* Uses that have no tensor stand behind all that have one. */
SHARED void put_tensor_kind(const struct storage_columns &c, row_t place) {
    c.pairs.keys[place] = c.use[c.pairs.rows[place]] != STORAGE_INPUT;
}

SHARED void put_tensor_head(const struct storage_columns &c, row_t place) {
    row_t row = c.pairs.rows[place];
    bool same = place && c.use[row] == STORAGE_INPUT && c.tensor[row] == c.tensor[c.pairs.rows[place - 1]];
    c.head[place] = same ? 0 : place;
}

SHARED void lead(const struct storage_columns &c, row_t place) {
    row_t row = c.pairs.rows[place];
    if (c.use[row] != STORAGE_INPUT)
        return;
    uint32_t storage = c.number[row], first = c.number[c.pairs.rows[c.head[place]]];
    uint32_t smaller = first < storage ? first : storage, larger = first < storage ? storage : first;
    keep_least(&c.leader[larger], smaller);
    keep_least(&c.leader[smaller], smaller);
}

/* ---- Groups ---- */

SHARED void put_self(const struct storage_columns &c, row_t storage) {
    c.selves[storage] = c.leader[storage] == storage;
}

SHARED void jump(const struct storage_columns &c, row_t storage) {
    uint32_t leader = c.leader[storage], next = leader == STORAGE_NONE ? leader : c.leader[leader];
    c.next_leader[storage] = next;
    if (next != leader)
        set_bits(c.changed, 1);
}

SHARED void put_tensor_group(const struct storage_columns &c, row_t row) {
    uint32_t leader = c.leader[c.number[row]];
    c.group[row] = leader == STORAGE_NONE ? STORAGE_NONE : c.selves[leader] - 1;
}

static void number_storages(struct gpu *gpu, const struct storage_columns *columns) {
    struct storage_columns c = *columns;
    gpu_each<put_device>(gpu, c.n, c);
    if (c.device)
        gpu_sort(gpu, &c.pairs, c.n, 32);
    gpu_each<put_storage>(gpu, c.n, c);
    gpu_sort(gpu, &c.pairs, c.n, 64);
    gpu_each<put_head>(gpu, c.n, c);
    gpu_scan_max(gpu, c.head, c.n);
    gpu_scan_sum(gpu, c.numbers, c.n);
    gpu_each<put_number>(gpu, c.n, c);
}

static void find_leaders(struct gpu *gpu, const struct storage_columns *columns) {
    struct storage_columns c = *columns;
    gpu_each<put_tensor>(gpu, c.n, c);
    gpu_sort(gpu, &c.pairs, c.n, 64);
    gpu_each<put_tensor_kind>(gpu, c.n, c);
    gpu_sort(gpu, &c.pairs, c.n, 1);
    gpu_each<put_tensor_head>(gpu, c.n, c);
    gpu_scan_max(gpu, c.head, c.n);
    gpu_each<lead>(gpu, c.n, c);
}

static void follow_leaders(struct gpu *gpu, struct storage_columns *c) {
    uint32_t more = 1;
    while (more && !gpu->failed) {
        gpu_each<jump>(gpu, c->n, *c);
        more = 0;
        gpu_down(gpu, &more, c->changed, 1);
        gpu_fill(gpu, c->changed, 0, sizeof *c->changed);
        uint32_t *leader = c->leader;
        c->leader = c->next_leader;
        c->next_leader = leader;
    }
}

void gpu_tensor_groups(struct gpu *gpu, struct tensor_groups_step *step) {
    const struct storage_uses *uses = step->uses;
    row_t n = uses->n;
    struct storage_columns c = {};
    gpu_enter(gpu, GPU_UP);
    c.n = n;
    c.tensor = gpu_up(gpu, uses->tensor, n);
    c.storage = gpu_up(gpu, uses->storage, n);
    c.device = uses->device ? gpu_up(gpu, uses->device, n) : NULL;
    c.use = gpu_up(gpu, uses->use, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    c.pairs = pairs_take(gpu, n);
    c.head = gpu_take<row_t>(gpu, n);
    c.numbers = gpu_take<row_t>(gpu, n);
    c.number = gpu_take<uint32_t>(gpu, n);
    c.group = gpu_take<uint32_t>(gpu, n);
    c.leader = gpu_take<uint32_t>(gpu, n);
    c.next_leader = gpu_take<uint32_t>(gpu, n);
    c.selves = gpu_take<row_t>(gpu, n);
    c.changed = gpu_take_zeros<uint32_t>(gpu, 1);
    number_storages(gpu, &c);
    find_leaders(gpu, &c);
    gpu_each<put_self>(gpu, n, c);
    gpu_scan_sum(gpu, c.selves, n);
    follow_leaders(gpu, &c);
    gpu_each<put_tensor_group>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->number, c.number, n);
    gpu_down(gpu, step->group, c.group, n);
}
