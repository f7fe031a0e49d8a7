/*
 * crew.c - exchanges messages between MPI processes: a tag and a number each.
 */
#include "cli/mpi/crew.h"

#include <mpi.h>
#include <time.h>

#include "cli/tool/message.h"
#include "cli/tool/progress.h"

/* The main thread looks for messages so often. */
#define LOOK_NS 2000000

#define TELL_SECONDS 1.0

enum crew_tag {
    TAG_THERE, /* a sign of life */
    TAG_PLAN,  /* to process 0: how many pairs the plan has */
    TAG_GO,    /* from it: whether all have as many */
    TAG_WANT,  /* to it: a rank is wanted */
    TAG_GIVE,  /* from it: the number of a pair, or -1 */
    TAG_DONE,  /* to it: nothing more is wanted */
    TAG_LEAVE, /* from it: all is done; 1: all are there, so that MPI may be ended as it should be */
};

static void send(int process, enum crew_tag tag, int64_t value) {
    MPI_Send(&value, 1, MPI_INT64_T, process, (int)tag, MPI_COMM_WORLD);
}

/* ---- The thread that works ---- */

static int64_t ask(struct crew *crew, enum crew_question question, int64_t value) {
    pthread_mutex_lock(&crew->mutex);
    crew->question = question;
    crew->value = value;
    crew->is_sent = false;
    pthread_cond_signal(&crew->asked);
    while (crew->question != ASK_NOTHING)
        pthread_cond_wait(&crew->answered, &crew->mutex);
    int64_t answer = crew->answer;
    pthread_mutex_unlock(&crew->mutex);
    return answer;
}

static bool team_begin(void *arg, size_t n_pairs) {
    return ask(arg, ASK_PLAN, n_pairs == SIZE_MAX ? CREW_NO_PLAN : (int64_t)n_pairs);
}

static bool team_next(void *arg, size_t *pair) {
    int64_t number = ask(arg, ASK_NEXT, 0);
    *pair = (size_t)number;
    return number >= 0;
}

static void team_end(void *arg) {
    ask(arg, ASK_END, 0);
}

void crew_return(struct crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    crew->has_returned = true;
    pthread_cond_signal(&crew->asked);
    pthread_mutex_unlock(&crew->mutex);
}

/* ---- The main thread; the mutex is held but for waiting ---- */

static void answer(struct crew *crew, int64_t value) {
    crew->answer = value;
    crew->question = ASK_NOTHING;
    pthread_cond_signal(&crew->answered);
}

static int64_t deal(struct crew *crew) {
    return crew->next < crew->n_pairs ? crew->next++ : -1;
}

/* Whether all that are there have told their plans, or are done. */
static bool all_have(const struct crew *crew, bool done) {
    for (int i = 0; i < crew->n_processes; i++) {
        const struct crew_mate *mate = &crew->mates[i];
        if (!mate->is_gone && (done ? i > 0 && !mate->is_done : mate->n_pairs == CREW_UNPLANNED))
            return false;
    }
    return true;
}

/* All plans are there: are they the same? */
static void agree(struct crew *crew) {
    int other = -1;
    for (int i = 0; i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone && crew->mates[i].n_pairs != crew->mates[0].n_pairs)
            other = i;
    bool same = other < 0 && crew->mates[0].n_pairs >= 0;
    crew->is_agreed = true;
    crew->n_pairs = crew->mates[0].n_pairs;
    for (int i = 1; i < crew->n_processes; i++) {
        if (!crew->mates[i].is_gone)
            send(i, TAG_GO, same);
        crew->mates[i].is_done = !same;
    }
    if (other > 0 && crew->mates[0].n_pairs >= 0)
        message_fail(SUTRA_NO_INPUT,
                     "process %d of the job finds other traces than process 0: all machines need the same directories",
                     other);
    answer(crew, same);
}

/* What is asked here, in process 0. */
static void answer_first(struct crew *crew) {
    if (crew->question == ASK_PLAN) {
        crew->mates[0].n_pairs = crew->value;
        if (!crew->is_agreed && all_have(crew, false))
            agree(crew);
    } else if (crew->question == ASK_NEXT) {
        answer(crew, deal(crew));
    } else if (crew->question == ASK_END && all_have(crew, true)) {
        answer(crew, 0);
    }
}

static void send_question(struct crew *crew) {
    static const enum crew_tag tags[] = {[ASK_PLAN] = TAG_PLAN, [ASK_NEXT] = TAG_WANT, [ASK_END] = TAG_DONE};
    if (crew->question == ASK_NOTHING || crew->is_sent)
        return;
    crew->is_sent = true;
    send(0, tags[crew->question], crew->value);
    if (crew->question == ASK_END)
        answer(crew, 0);
}

static void take_as_first(struct crew *crew, int from, enum crew_tag tag, int64_t value) {
    struct crew_mate *mate = &crew->mates[from];
    mate->heard = clock_seconds();
    if (tag == TAG_PLAN)
        mate->n_pairs = value;
    else if (tag == TAG_WANT)
        send(from, TAG_GIVE, mate->is_gone ? -1 : deal(crew)); /* whoever was taken as gone has nothing to do */
    else if (tag == TAG_DONE)
        mate->is_done = true;
}

static void take_from_first(struct crew *crew, enum crew_tag tag, int64_t value) {
    crew->mates[0].heard = clock_seconds();
    if (tag == TAG_GO || tag == TAG_GIVE) {
        answer(crew, value);
    } else if (tag == TAG_LEAVE) {
        crew->is_over = true;
        crew->answer = value;
    }
}

static void take_messages(struct crew *crew) {
    int there = 1;
    while (!crew->is_over) {
        MPI_Status status;
        int64_t value;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
        if (!there)
            return;
        MPI_Recv(&value, 1, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        if (crew->process == 0)
            take_as_first(crew, status.MPI_SOURCE, (enum crew_tag)status.MPI_TAG, value);
        else
            take_from_first(crew, (enum crew_tag)status.MPI_TAG, value);
    }
}

static void tell_life(struct crew *crew) {
    double now = clock_seconds();
    if (now - crew->told < TELL_SECONDS)
        return;
    crew->told = now;
    for (int i = 1; crew->process == 0 && i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone)
            send(i, TAG_THERE, 0);
    if (crew->process > 0)
        send(0, TAG_THERE, 0);
}

static void look_for_gone(struct crew *crew) {
    double now = clock_seconds();
    for (int i = 1; i < crew->n_processes; i++) {
        struct crew_mate *mate = &crew->mates[i];
        if (mate->is_gone || mate->is_done || now - mate->heard < crew->patience)
            continue;
        mate->is_gone = true;
        message_warn("process %d has not responded for %.0f s: continuing without it", i, crew->patience);
    }
}

/* Process 0 is gone: nothing more is given out. */
static void look_for_first(struct crew *crew) {
    if (clock_seconds() - crew->mates[0].heard < crew->patience)
        return;
    if (crew->question != ASK_NOTHING)
        answer(crew, crew->question == ASK_NEXT ? -1 : 0);
    crew->is_over = crew->has_returned;
    crew->answer = 0;
}

/* Whether this process need carry no more messages. */
static bool is_served(const struct crew *crew) {
    return crew->process == 0 ? crew->has_returned : crew->is_over && crew->has_returned;
}

void crew_serve(struct crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    while (!is_served(crew)) {
        struct timespec until;
        take_messages(crew);
        tell_life(crew);
        if (crew->process == 0) {
            look_for_gone(crew);
            answer_first(crew);
        } else {
            look_for_first(crew);
            send_question(crew);
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!is_served(crew))
            pthread_cond_timedwait(&crew->asked, &crew->mutex, &until);
    }
    pthread_mutex_unlock(&crew->mutex);
}

bool crew_dismiss(struct crew *crew) {
    bool all = true;
    for (int i = 1; i < crew->n_processes; i++)
        all &= !crew->mates[i].is_gone;
    for (int i = 1; i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone)
            send(i, TAG_LEAVE, all);
    return all;
}

void crew_start(struct crew *crew, int process, int n_processes, unsigned n_threads, double patience,
                struct crew_mate *mates) {
    *crew = (struct crew){.process = process,
                          .n_processes = n_processes,
                          .patience = patience,
                          .mates = mates,
                          .team = {.is_first = process == 0,
                                   .n_threads = n_threads,
                                   .begin = team_begin,
                                   .next = team_next,
                                   .end = team_end,
                                   .arg = crew}};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->asked, NULL);
    pthread_cond_init(&crew->answered, NULL);
    for (int i = 0; i < n_processes; i++)
        mates[i] = (struct crew_mate){.heard = clock_seconds(), .n_pairs = CREW_UNPLANNED};
}
