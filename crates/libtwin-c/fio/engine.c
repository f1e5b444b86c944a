/*
 * An engine of fio that answers when a drive would that is not here: ioengine=external:libassay_fio.so, filename=twin:NAME.
 *
 * Compiled against the headers of the fio that shall load it (`assay fio engine`); nothing of fio is in this file. No byte
 * is moved. Requests go to the twin at the moment at which fio queues them, by the clock of this machine, and are handed
 * back at the moment that the twin named, never before it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fio.h"
#include <twin.h>

#define PREFIX "twin:"
#define TEXT_AT_MOST (1 << 20)
/* A sleeping thread is woken late: the last part of a wait is spun. */
#define SPIN_NS 80000

/* A drive; jobs that are threads share it. */
struct drive {
    char name[256];
    twin_t *twin;
    pthread_mutex_t lock;
    struct drive *next;
};

struct waiting {
    uint64_t due_ns;
    struct io_u *io_u;
};

/* What a job has in flight, the earliest first (a heap), and what was handed back last. */
struct flight {
    struct drive *drive;
    struct waiting *heap;
    unsigned int count;
    struct io_u **done;
};

static struct drive *drives;
static pthread_mutex_t drives_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the way through a host adds to each request; the twin is the drive alone. */
static uint64_t host_ns;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void push(struct flight *flight, struct waiting one) {
    unsigned int at = flight->count++;
    for (; at > 0 && flight->heap[(at - 1) / 2].due_ns > one.due_ns; at = (at - 1) / 2)
        flight->heap[at] = flight->heap[(at - 1) / 2];
    flight->heap[at] = one;
}

static struct io_u *pop(struct flight *flight) {
    struct io_u *first = flight->heap[0].io_u;
    struct waiting last = flight->heap[--flight->count];
    unsigned int at = 0, child;
    while ((child = 2 * at + 1) < flight->count) {
        if (child + 1 < flight->count && flight->heap[child + 1].due_ns < flight->heap[child].due_ns)
            child++;
        if (flight->heap[child].due_ns >= last.due_ns)
            break;
        flight->heap[at] = flight->heap[child];
        at = child;
    }
    flight->heap[at] = last;
    return first;
}

/* Waits until a moment: asleep for as long as that is safe. */
static void wait_until(uint64_t due_ns) {
    uint64_t now = now_ns();
    if (due_ns > now + 2 * SPIN_NS) {
        uint64_t until = due_ns - SPIN_NS;
        struct timespec at = {.tv_sec = until / 1000000000u, .tv_nsec = until % 1000000000u};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    while (now_ns() < due_ns)
        ;
}

/* The text of NAME's file: a path, or a twin of the catalog. */
static char *text_of(const char *name, size_t *length) {
    char path[4096];
    const char *folder = getenv("ASSAY_TWINS");
    if (strchr(name, '/') || strstr(name, ".toml"))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s.toml", folder ? folder : ASSAY_TWINS, name);
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(TEXT_AT_MOST) : NULL;
    if (text)
        *length = fread(text, 1, TEXT_AT_MOST, file);
    else
        log_err("assay: %s cannot be read; `assay list twins` shows the catalog\n", path);
    if (file)
        fclose(file);
    return text;
}

static struct drive *opened(const char *name, uint64_t seed) {
    size_t length = 0;
    char *text = text_of(name, &length);
    struct drive *drive = text ? calloc(1, sizeof *drive) : NULL;
    if (drive) {
        snprintf(drive->name, sizeof drive->name, "%s", name);
        pthread_mutex_init(&drive->lock, NULL);
        drive->twin = twin_open(text, length, seed);
        if (drive->twin == NULL)
            log_err("assay: %s\n", twin_error());
    }
    free(text);
    if (drive && drive->twin)
        return drive;
    free(drive);
    return NULL;
}

/* The drive of a name: the one that is open, or a new one; kept until fio ends. */
static struct drive *drive_of(const char *name, uint64_t seed) {
    pthread_mutex_lock(&drives_lock);
    struct drive *drive = drives;
    while (drive && strcmp(drive->name, name))
        drive = drive->next;
    if (drive == NULL && (drive = opened(name, seed))) {
        drive->next = drives;
        drives = drive;
    }
    pthread_mutex_unlock(&drives_lock);
    return drive;
}

static const char *name_of(struct thread_data *td) {
    const char *name = td->o.filename;
    if (name == NULL || strncmp(name, PREFIX, strlen(PREFIX)))
        return NULL;
    return name + strlen(PREFIX);
}

/* Tells fio how large the drive is. It has taken the name apart at its colon: one file is left. */
static int assay_setup(struct thread_data *td) {
    const char *name = name_of(td), *host = getenv("ASSAY_HOST_NS");
    struct drive *drive = name ? drive_of(name, 42) : NULL;
    char *end = NULL;
    host_ns = host ? strtoull(host, &end, 10) : 0;
    if (host && (host[0] < '0' || host[0] > '9' || *end)) {
        log_err("assay: ASSAY_HOST_NS is %s; write nanoseconds as a whole number\n", host);
        return 1;
    }
    if (name == NULL)
        log_err("assay: there is no twin in the file name; write --filename=twin:NAME\n");
    if (drive == NULL)
        return 1;
    if (td->files_index == 0)
        add_file(td, name, 0, 0);
    td->files_index = td->o.nr_files = td->o.open_files = 1;
    td->files[0]->real_file_size = twin_describe(drive->twin)->capacity_bytes;
    return 0;
}

static int assay_init(struct thread_data *td) {
    struct flight *flight = calloc(1, sizeof *flight);
    if (td->thread_number > 1 && !td->o.use_thread) {
        log_err("assay: processes would have a drive each; add --thread, and the jobs share one\n");
        free(flight);
        return 1;
    }
    flight->drive = drive_of(name_of(td), 42);
    flight->heap = calloc(td->o.iodepth + 1, sizeof *flight->heap);
    flight->done = calloc(td->o.iodepth + 1, sizeof *flight->done);
    td->io_ops_data = flight;
    return 0;
}

static enum fio_q_status assay_queue(struct thread_data *td, struct io_u *io_u) {
    struct flight *flight = td->io_ops_data;
    struct drive *drive = flight->drive;
    struct waiting one = {.io_u = io_u};
    uint32_t op = io_u->ddir == DDIR_READ ? TWIN_READ : io_u->ddir == DDIR_TRIM ? TWIN_TRIM : TWIN_WRITE;
    fio_ro_check(td, io_u);
    pthread_mutex_lock(&drive->lock);
    if (ddir_sync(io_u->ddir))
        one.due_ns = twin_flush(drive->twin, now_ns());
    else
        one.due_ns = twin_submit(drive->twin, now_ns(), op, io_u->offset, io_u->xfer_buflen);
    pthread_mutex_unlock(&drive->lock);
    if (one.due_ns == TWIN_FAILED) {
        io_u->error = EIO;
        return FIO_Q_COMPLETED;
    }
    one.due_ns += host_ns;
    push(flight, one);
    return FIO_Q_QUEUED;
}

static int assay_getevents(struct thread_data *td, unsigned int min, unsigned int max, const struct timespec *timeout) {
    struct flight *flight = td->io_ops_data;
    unsigned int count = 0;
    (void)timeout;
    while (count < max && flight->count > 0) {
        if (flight->heap[0].due_ns > now_ns()) {
            if (count >= min)
                break;
            wait_until(flight->heap[0].due_ns);
        }
        flight->done[count++] = pop(flight);
    }
    return (int)count;
}

static struct io_u *assay_event(struct thread_data *td, int event) {
    return ((struct flight *)td->io_ops_data)->done[event];
}

static void assay_cleanup(struct thread_data *td) {
    struct flight *flight = td->io_ops_data;
    if (flight) {
        free(flight->heap);
        free(flight->done);
        free(flight);
    }
}

static int assay_open(struct thread_data *td, struct fio_file *file) {
    (void)td, (void)file;
    return 0;
}

struct ioengine_ops ioengine = {
    .name = "assay",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_DISKLESSIO | FIO_FAKEIO | FIO_NOEXTEND | FIO_NODISKUTIL,
    .setup = assay_setup,
    .init = assay_init,
    .queue = assay_queue,
    .getevents = assay_getevents,
    .event = assay_event,
    .cleanup = assay_cleanup,
    .open_file = assay_open,
    .close_file = assay_open,
};
