/* A time stamp counter that runs wrong, for one program: loaded into it before it starts (LD_PRELOAD).
 *
 * The kernel is asked to let no instruction of this process read the counter. Each attempt ends in a signal, and the
 * handler answers with what the program is to believe. The kernel's own clock (in the vDSO) is given the true counter, so
 * that CLOCK_MONOTONIC stays right.
 *
 * The file that WRONG_CLOCK names holds one 64-bit number, which may change at any time: by how many ticks the counter is
 * ahead. WRONG_SLEEP names one of the same kind: by how many nanoseconds CLOCK_BOOTTIME is ahead.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int64_t *ahead, *asleep;
static uintptr_t vdso;
static const uintptr_t VDSO_BYTES = 8 * 4096;

static volatile int64_t *number(const char *name) {
    const char *path = getenv(name);
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return NULL;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return page == MAP_FAILED ? NULL : page;
}

static uint64_t counter(uint32_t *cpu) {
    uint32_t low, high;
    syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*cpu));
    syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return (uint64_t)high << 32 | low;
}

static void answer(int signal_number, siginfo_t *info, void *context) {
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)registers[REG_RIP];
    int plain = at[0] == 0x0f && at[1] == 0x31, with_cpu = at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xf9;
    if (!plain && !with_cpu) { /* A fault of its own. */
        signal(signal_number, SIG_DFL);
        return;
    }
    uint32_t cpu;
    uint64_t ticks = counter(&cpu);
    if (!((uintptr_t)at >= vdso && (uintptr_t)at < vdso + VDSO_BYTES)) ticks += (uint64_t)*ahead;
    registers[REG_RAX] = (uint32_t)ticks;
    registers[REG_RDX] = (uint32_t)(ticks >> 32);
    if (with_cpu) registers[REG_RCX] = cpu;
    registers[REG_RIP] += plain ? 2 : 3;
}

int clock_gettime(clockid_t id, struct timespec *time) {
    int done = (int)syscall(SYS_clock_gettime, id, time);
    if (done == 0 && id == CLOCK_BOOTTIME && asleep) {
        int64_t ns = time->tv_nsec + *asleep;
        time->tv_sec += ns / 1000000000;
        time->tv_nsec = ns % 1000000000;
    }
    return done;
}

__attribute__((constructor)) static void begin(void) {
    asleep = number("WRONG_SLEEP");
    ahead = number("WRONG_CLOCK");
    if (!ahead) return;
    vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}
