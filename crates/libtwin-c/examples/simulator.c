/* The disk of a deterministic simulator: eight tasks in virtual time, each reads, writes, and makes its write durable. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <twin.h>

#define TASKS 8

int main(int argc, char **argv) {
    static char text[1 << 16];
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) return fprintf(stderr, "usage: simulator catalog/twins/NAME.toml\n"), 2;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    twin_t *twin = twin_open(text, length, 42);
    if (twin == NULL) return fprintf(stderr, "%s\n", twin_error()), 4;
    const twin_description *about = twin_describe(twin);
    uint64_t ready[TASKS] = {0}, blocks = about->capacity_bytes / 4096, chance = 1, commits = 0;
    int step[TASKS] = {0};
    for (;;) {
        int task = 0;
        for (int other = 1; other < TASKS; other++)
            if (ready[other] < ready[task]) task = other;
        uint64_t now = ready[task];
        if (now >= 1000000000) break;
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        uint64_t offset = (chance >> 20) % blocks * 4096;
        if (step[task] < 2)
            ready[task] = twin_submit(twin, now, step[task] == 0 ? TWIN_READ : TWIN_WRITE, offset, 4096);
        else
            ready[task] = twin_flush(twin, now), commits++;
        step[task] = (step[task] + 1) % 3;
    }
    printf("%s: %" PRIu64 " durable changes in a second of %d tasks\n", about->title, commits, TASKS);
    twin_close(twin);
    return 0;
}
