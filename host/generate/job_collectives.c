/*
 * job_collectives.c - the collectives of generator.h: kinds and sizes of collectives, their ends on all ranks, and the
 * process groups in "distributedInfo". Cost: O(1) per collective and rank.
 */
#include "generate/generator.h"

#include "base/memory.h"
#include "base/shared.h"

/* The names of a kind in the trace. */
struct collective_words {
    const char *name, *kernel, *type;
    int64_t type_size;
};

static const struct collective_words words[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALL_REDUCE] = {"allreduce", "AllReduce_Sum_f32_RING_LL", "Float", 4},
    [COLLECTIVE_BROADCAST] = {"broadcast", "Broadcast_RING_LL", "Float", 4},
    [COLLECTIVE_ALL_GATHER] = {"_allgather_base", "AllGather_RING_LL", "BFloat16", 2},
    [COLLECTIVE_REDUCE_SCATTER] = {"_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL", "BFloat16", 2},
    [COLLECTIVE_SEND] = {"send", "SendRecv", "BFloat16", 2},
    [COLLECTIVE_RECEIVE] = {"recv", "SendRecv", "BFloat16", 2},
};

#define BYTES_PER_NS 40
#define LATENCY_NS   12000
#define JITTER_NS    900

/* The world collective whose kernel the lossy rank loses, and the one whose size differs on the resized rank. */
#define LOST_TURN    2
#define RESIZED_TURN 3

/* Longer lists of ranks are truncated. */
#define RANKS_LISTED 30

static void add_ranks(struct buffer *text, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n && i < RANKS_LISTED; i++)
        buffer_format(text, "%s%u", i ? ", " : "", first + i);
    buffer_format(text, n > RANKS_LISTED ? ", ...]'" : "]'");
}

static void kernel_add(struct buffer *text, const struct job_member *member, enum collective_kind kind) {
    const struct collective_words *of = &words[kind];
    uint32_t partner = member->rank ^ 1;
    bool pair = kind != COLLECTIVE_ALL_REDUCE && kind != COLLECTIVE_BROADCAST;
    buffer_format(
        text,
        "{'ph': 'X', 'cat': 'kernel', 'name': 'ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)', 'pid': 0, "
        "'tid': @tid@, 'ts': @ts@, 'dur': @dur@, 'args': {'External id': @external@, 'queued': 0, 'device': 0, "
        "'context': 1, 'stream': @tid@, 'correlation': @correlation@, 'Collective name': '%s', "
        "'In msg nelems': @in@, 'Out msg nelems': @out@, 'Group size': %u, 'dtype': '%s', 'In split size': '[]', "
        "'Out split size': '[]', 'Process Group Name': '%u', 'Process Group Description': '%s', ",
        of->kernel, of->name, pair ? 2 : member->job->n_ranks, of->type, pair ? 1 + member->rank / 2 : 0,
        pair ? "neighbours" : "default_pg");
    buffer_format(text, "'Process Group Ranks': '[");
    add_ranks(text, pair ? member->rank & ~1U : 0, pair ? 2 : member->job->n_ranks);
    if (kind == COLLECTIVE_SEND || kind == COLLECTIVE_RECEIVE)
        buffer_format(text, ", '%s Rank': %u", kind == COLLECTIVE_SEND ? "Dst" : "Src", partner);
    buffer_format(text, ", 'Seq': @turn@}}");
}

bool job_member_make(struct job_member *member, const struct generate_job_options *job, uint32_t rank,
                     struct collective_ends *ends) {
    struct buffer text = {0};
    *member = (struct job_member){.job = job, .rank = rank, .ends = ends};
    for (int kind = 0; kind < N_COLLECTIVE_KINDS; kind++) {
        text.length = 0;
        kernel_add(&text, member, (enum collective_kind)kind);
        member->kernels[kind] = template_make(&member->arena, text.bytes, text.length);
    }
    bool ok = !text.failed && !member->arena.failed;
    buffer_free(&text);
    return ok;
}

uint32_t job_member_neighbours(const struct job_member *member) {
    const struct generate_job_options *job = member->job;
    uint32_t left = job->n_ranks - member->rank / job->ranks_per_host * job->ranks_per_host;
    return MIN(left, job->ranks_per_host);
}

static void write_group(struct output *output, uint32_t name, const char *description, uint32_t first, uint32_t n) {
    output_text(output, "{\"pg_name\": \"");
    output_number(output, name);
    output_text(output, "\", \"pg_desc\": \"");
    output_text(output, description);
    output_text(output, "\", \"backend_config\": \"cuda:nccl\", \"pg_size\": ");
    output_number(output, n);
    output_text(output, ", \"ranks\": [");
    for (uint32_t i = 0; i < n; i++) {
        output_text(output, i ? ", " : "");
        output_number(output, first + i);
    }
    output_text(output, "]}");
}

void job_member_write_info(const struct job_member *member, struct output *output) {
    uint32_t n_ranks = member->job->n_ranks, rank = member->rank;
    output_text(output, "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ");
    output_number(output, rank);
    output_text(output, ", \"world_size\": ");
    output_number(output, n_ranks);
    output_text(output, n_ranks % 2 ? ", \"pg_count\": 1, \"pg_config\": [" : ", \"pg_count\": 2, \"pg_config\": [");
    write_group(output, 0, "default_pg", 0, n_ranks);
    if (n_ranks % 2 == 0) {
        output_text(output, ", ");
        write_group(output, 1 + rank / 2, "neighbours", rank & ~1U, 2);
    }
    output_text(output, "], \"nccl_version\": \"2.21.5\"},\n");
}

void job_member_rewind(struct job_member *member, bool is_settled) {
    member->noise.state = member->job->run.seed + UINT64_C(1000003) * (member->rank + 1);
    memset(member->turns, 0, sizeof member->turns);
    member->at = 0;
    member->is_settled = is_settled;
    member->n_launched = 0;
}

/* Consecutive collectives differ in size. */
static struct collective collective_of(const struct job_member *member, enum collective_set set, int64_t turn) {
    bool is_swapped = member->rank == member->job->swapped_rank && set == SET_WORLD && turn < 2;
    int64_t as = is_swapped ? 1 - turn : turn;
    struct random random = {member->job->run.seed + UINT64_C(77777) * set + (uint64_t)as};
    int64_t n = (INT64_C(1024) << random_below(&random, 10)) + 8 * as;
    if (member->rank == member->job->resized_rank && set == SET_WORLD && turn == RESIZED_TURN)
        n += 1024;
    uint32_t bits = (uint32_t)(random_next(&random) >> 40);
    enum collective_kind kind = bits & 3 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_BROADCAST;
    if (set == SET_PAIR)
        kind = bits & 1 ? COLLECTIVE_ALL_GATHER : COLLECTIVE_REDUCE_SCATTER;
    else if (set == SET_MESSAGES) /* both directions */
        kind = (bits ^ member->rank) & 1 ? COLLECTIVE_SEND : COLLECTIVE_RECEIVE;
    return (struct collective){.set = set,
                               .turn = turn,
                               .kind = kind,
                               .n_in = kind == COLLECTIVE_ALL_GATHER ? n / 2 : n,
                               .n_out = kind == COLLECTIVE_REDUCE_SCATTER ? n / 2 : n,
                               .duration = LATENCY_NS + n * words[kind].type_size / BYTES_PER_NS};
}

/* With an odd number of ranks, there are no pairs. */
void collective_draw(struct job_member *member, struct random *program) {
    uint32_t bits = random_below(program, 8);
    enum collective_set set = bits < 4 || member->job->n_ranks % 2 ? SET_WORLD : bits < 6 ? SET_PAIR : SET_MESSAGES;
    member->next = collective_of(member, set, member->turns[set]++);
}

bool collective_is_lost(const struct job_member *member) {
    return member->rank == member->job->lossy_rank && member->next.set == SET_WORLD && member->next.turn == LOST_TURN;
}

static uint32_t groups_of(const struct job_member *member, enum collective_set set) {
    return set == SET_WORLD ? 1 : member->job->n_ranks / 2;
}

static int64_t end_on_rank(const struct job_member *member, uint64_t at, int64_t end) {
    struct random random = {at * 31 + member->rank};
    return end + random_below(&random, JITTER_NS);
}

int64_t collective_end(struct job_member *member, int64_t ready, int64_t start) {
    enum collective_set set = member->next.set;
    if (member->is_settled) {
        uint64_t at = member->at + (set == SET_WORLD ? 0 : member->rank / 2);
        member->at += groups_of(member, set);
        return end_on_rank(member, at, member->ends->list[at]);
    }
    uint64_t i = member->n_launched;
    if (arena_grow(&member->arena, &member->launched, i, &member->launched_capacity, sizeof *member->launched) &&
        arena_grow(&member->arena, &member->ready, i, &member->ready_capacity, sizeof *member->ready)) {
        member->launched[i] = member->next;
        member->ready[i] = ready;
        member->n_launched++;
    }
    return start;
}

bool collectives_settle(struct job_member *members, int64_t *clocks, int64_t *ends) {
    struct collective_ends *all = members->ends;
    uint32_t n_ranks = members->job->n_ranks;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        if (members[rank].arena.failed)
            return false;
    for (uint64_t i = 0; i < members->n_launched; i++) {
        enum collective_set set = members->launched[i].set;
        uint32_t n_groups = groups_of(members, set), n = set == SET_WORLD ? n_ranks : 2;
        for (uint32_t group = 0; group < n_groups; group++) {
            if (!arena_grow(&all->arena, &all->list, all->n, &all->capacity, sizeof *all->list))
                return false;

            /* The end of collective i of the ranks first ... first + n - 1. */
            uint32_t first = group * n;
            int64_t begun = INT64_MIN;
            for (uint32_t rank = first; rank < first + n; rank++) {
                int64_t start = MAX(members[rank].ready[i], clocks[rank]);
                begun = MAX(start, begun);
            }
            int64_t end = all->list[all->n] = begun + members[first].launched[i].duration;
            for (uint32_t rank = first; rank < first + n; rank++) {
                ends[rank] = end_on_rank(&members[rank], all->n, end);
                clocks[rank] = ends[rank] + COLLECTIVE_GAP_NS;
            }
            all->n++;
        }
    }
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        members[rank].n_launched = 0;
    return true;
}
