// What a driver is asked to do, from its flags.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

namespace assay {

// Says what cannot be, and ends with the exit code of a bad job.
[[noreturn]] inline void refuse(const std::string& reason) {
  std::cerr << reason << std::endl;
  std::exit(2);
}

// One run: a load, a warm-up and a window.
struct Job {
  std::string structure;
  // lookup, missing, insert, update, remove, scan or mixed (half lookups, half updates).
  std::string workload;
  // Where the pool is made; it must not be there.
  std::string file;
  uint64_t pool_bytes = 0;
  uint64_t keys = 0;
  uint64_t threads = 1;
  uint64_t scan_length = 100;
  uint64_t checked = 2000;
  uint64_t seed = 1;
  double warmup_s = 0;
  double seconds = 1;
};

// Of `--name value` pairs. Ends where one is not known, or has no value.
inline Job parse(int count, char** words) {
  std::map<std::string, std::string> given;
  for (int at = 1; at < count; at += 2) {
    if (at + 1 == count) refuse(std::string(words[at]) + " has no value");
    given[words[at]] = words[at + 1];
  }
  Job job;
  const std::map<std::string, std::string*> texts = {
      {"--structure", &job.structure}, {"--workload", &job.workload}, {"--file", &job.file}};
  const std::map<std::string, uint64_t*> numbers = {
      {"--pool-bytes", &job.pool_bytes}, {"--keys", &job.keys},       {"--threads", &job.threads},
      {"--scan-length", &job.scan_length}, {"--checked", &job.checked}, {"--seed", &job.seed}};
  const std::map<std::string, double*> seconds = {{"--warmup", &job.warmup_s}, {"--seconds", &job.seconds}};
  for (const auto& [name, value] : given) {
    if (texts.count(name)) {
      *texts.at(name) = value;
    } else if (numbers.count(name)) {
      *numbers.at(name) = std::strtoull(value.c_str(), nullptr, 10);
    } else if (seconds.count(name)) {
      *seconds.at(name) = std::strtod(value.c_str(), nullptr);
    } else {
      refuse(name + " is not known");
    }
  }
  if (job.keys == 0 || job.threads == 0) refuse("--keys and --threads are at least 1");
  return job;
}

}  // namespace assay
