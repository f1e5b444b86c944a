// Drives a program's structure by one workload, and prints one line of JSON.
//
// A driver has a table: `Table::session(thread)` gives a thread its way into it, with `lookup(key, value)`, `insert`,
// `update`, `remove` (each answers whether it succeeded) and `scan(key, entries)` (how many it saw). What a program does
// not have is inherited from `Lacking`.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "entries.hpp"
#include "job.hpp"

namespace assay {

// What a program does not have is refused when it is asked for.
struct Lacking {
  bool lookup(uint64_t, uint64_t&) { refuse("the program has no lookup"); }
  bool insert(uint64_t, uint64_t) { refuse("the program has no insert"); }
  bool update(uint64_t, uint64_t) { refuse("the program has no update"); }
  bool remove(uint64_t) { refuse("the program has no removal"); }
  uint64_t scan(uint64_t, uint64_t) { refuse("the program has no scan"); }
};

enum class Kind { lookup, missing, insert, update, remove, scan, mixed };

inline Kind kind_of(const std::string& name) {
  const std::map<std::string, Kind> all = {
      {"lookup", Kind::lookup}, {"missing", Kind::missing}, {"insert", Kind::insert}, {"update", Kind::update},
      {"remove", Kind::remove}, {"scan", Kind::scan},       {"mixed", Kind::mixed}};
  if (!all.count(name)) refuse("there is no workload " + name);
  return all.at(name);
}

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// CPU time of the process, s.
inline double cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
  return of(used.ru_utime) + of(used.ru_stime);
}

// What one thread has done; on lines of its own.
struct alignas(128) Done {
  uint64_t succeeded = 0;
  uint64_t empty = 0;
  uint64_t entries = 0;
  uint64_t added = 0;
  uint64_t removed = 0;
  double seconds = 0;
};

template <class Session>
class Worker {
 public:
  Worker(const Job& job, Session session, uint64_t thread)
      : job_(job), entries_(job.seed), session_(session), random_(job.seed * 1000003 + thread), thread_(thread) {}

  // Its part of the load.
  void load() {
    for (uint64_t id = thread_; id < job_.keys; id += job_.threads) {
      const uint64_t key = entries_.key(id);
      if (!session_.insert(key, entries_.value(key, 0))) refuse("a key of the load was there already");
    }
  }

  // Until its time is over, or nothing is left to remove. The clock is asked once in 256 operations.
  template <Kind kind>
  void work(double seconds, Done& done) {
    const auto start = Clock::now();
    do {
      for (int operation = 0; operation < 256; ++operation) {
        if (!step<kind>(done)) {
          done.seconds = seconds_since(start);
          return;
        }
      }
      done.seconds = seconds_since(start);
    } while (done.seconds < seconds);
  }

 private:
  template <Kind kind>
  bool step(Done& done) {
    bool found = true;
    if constexpr (kind == Kind::lookup) {
      found = look(random_.below(job_.keys));
    } else if constexpr (kind == Kind::missing) {
      found = !look(random_.below(job_.keys) | kMissing);
    } else if constexpr (kind == Kind::insert) {
      const uint64_t key = entries_.key(job_.keys + thread_ + done.added++ * job_.threads);
      found = session_.insert(key, entries_.value(key, thread_ + 1));
    } else if constexpr (kind == Kind::update) {
      found = change(random_.below(job_.keys));
    } else if constexpr (kind == Kind::remove) {
      const uint64_t id = thread_ + done.removed * job_.threads;
      if (id >= job_.keys) return false;
      ++done.removed;
      found = session_.remove(entries_.key(id));
    } else if constexpr (kind == Kind::scan) {
      const uint64_t seen = session_.scan(entries_.key(random_.below(job_.keys)), job_.scan_length);
      done.entries += seen;
      found = seen > 0;
    } else {
      const uint64_t id = random_.below(job_.keys);
      found = random_.next() >> 63 ? look(id) : change(id);
    }
    ++(found ? done.succeeded : done.empty);
    return true;
  }

  bool look(uint64_t id) {
    uint64_t value = 0;
    return session_.lookup(entries_.key(id), value);
  }

  bool change(uint64_t id) {
    const uint64_t key = entries_.key(id);
    return session_.update(key, entries_.value(key, static_cast<uint32_t>(random_.next()) | 1));
  }

  const Job& job_;
  Entries entries_;
  Session session_;
  Random random_;
  uint64_t thread_;
};

// Runs `act(thread)` on every thread, from one moment on.
template <class Act>
void together(uint64_t threads, Act act) {
  std::atomic<uint64_t> ready{0};
  std::vector<std::thread> all;
  for (uint64_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      act(thread);
    });
  }
  for (auto& one : all) one.join();
}

// What the window left: ids of the load and added ones, evenly spread, are there with a value of their own, or gone; as
// many that never were are not there. The number that are not as they must be.
template <class Session>
uint64_t wrong(const Job& job, Session session, const std::vector<Done>& done) {
  const Entries entries(job.seed);
  uint64_t bad = 0;
  const auto look = [&](uint64_t id, bool there) {
    const uint64_t key = entries.key(id);
    uint64_t value = 0;
    const bool found = session.lookup(key, value);
    bad += found != there || (found && !entries.is_value(key, value));
  };
  const uint64_t step = job.keys / job.checked + 1;
  for (uint64_t id = 0; id < job.keys; id += step) {
    look(id, id / job.threads >= done[id % job.threads].removed);
    look(id | kMissing, false);
  }
  for (uint64_t thread = 0; thread < job.threads; ++thread) {
    const uint64_t stride = done[thread].added / job.checked + 1;
    for (uint64_t n = 0; n < done[thread].added; n += stride) look(job.keys + thread + n * job.threads, true);
  }
  return bad;
}

struct Window {
  std::vector<Done> done;
  double cpu_s = 0;
};

template <Kind kind, class Table>
Window measure(const Job& job, Table& table, double seconds) {
  Window window{std::vector<Done>(job.threads), 0};
  const double before = cpu_s();
  together(job.threads, [&](uint64_t thread) {
    Worker worker(job, table.session(thread), thread);
    worker.template work<kind>(seconds, window.done[thread]);
  });
  window.cpu_s = cpu_s() - before;
  return window;
}

template <Kind kind, class Table>
Window warm_and_measure(const Job& job, Table& table) {
  // A warm-up changes no key: lookups stand in for inserts and removals.
  constexpr Kind before = kind == Kind::insert || kind == Kind::remove ? Kind::lookup : kind;
  if (job.warmup_s > 0) measure<before>(job, table, job.warmup_s);
  return measure<kind>(job, table, job.seconds);
}

template <class Table>
Window played(const Job& job, Table& table, Kind kind) {
  switch (kind) {
    case Kind::lookup: return warm_and_measure<Kind::lookup>(job, table);
    case Kind::missing: return warm_and_measure<Kind::missing>(job, table);
    case Kind::insert: return warm_and_measure<Kind::insert>(job, table);
    case Kind::update: return warm_and_measure<Kind::update>(job, table);
    case Kind::remove: return warm_and_measure<Kind::remove>(job, table);
    case Kind::scan: return warm_and_measure<Kind::scan>(job, table);
    default: return warm_and_measure<Kind::mixed>(job, table);
  }
}

inline void print(const Job& job, const Window& window, double load_s, uint64_t bad) {
  Done sum;
  double per_s = 0;
  for (const auto& one : window.done) {
    sum.succeeded += one.succeeded;
    sum.empty += one.empty;
    sum.entries += one.entries;
    sum.seconds = one.seconds > sum.seconds ? one.seconds : sum.seconds;
    per_s += one.seconds > 0 ? one.succeeded / one.seconds : 0;
  }
  std::printf(
      "\n{\"structure\": \"%s\", \"workload\": \"%s\", \"keys\": %lu, \"threads\": %lu, \"succeeded\": %lu, "
      "\"empty\": %lu, \"entries\": %lu, \"seconds\": %.9f, \"succeeded_per_s\": %.3f, \"cpu_s\": %.9f, "
      "\"load_s\": %.6f, \"wrong\": %lu}\n",
      job.structure.c_str(), job.workload.c_str(), job.keys, job.threads, sum.succeeded, sum.empty, sum.entries,
      sum.seconds, per_s, window.cpu_s, load_s, bad);
  std::fflush(stdout);
}

// Makes huge pages of what lies in a file of memory, as a file system on DAX gives them, and as ours has them before its
// window. A refusal means ordinary pages.
inline void make_pages_huge(const std::string& file) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t start = 0, end = 0;
    const bool whole = line.size() >= file.size() && line.compare(line.size() - file.size(), file.size(), file) == 0;
    if (!whole || std::sscanf(line.c_str(), "%lx-%lx", &start, &end) != 2) continue;
    madvise(reinterpret_cast<void*>(start), end - start, kCollapse);
  }
}

// Loads, warms up, measures, checks and prints; the exit code, which is 1 where an entry is not as it must be.
template <class Table>
int run(const Job& job, Table& table) {
  const Kind kind = kind_of(job.workload);
  const auto start = Clock::now();
  together(job.threads, [&](uint64_t thread) { Worker(job, table.session(thread), thread).load(); });
  const double load_s = seconds_since(start);
  make_pages_huge(job.file);
  const Window window = played(job, table, kind);
  const uint64_t bad = wrong(job, table.session(0), window.done);
  print(job, window, load_s, bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace assay
