// FPTree of the data-intensive systems lab at Simon Fraser University, behind the harness.
#include <unistd.h>

#include "fptree.h"
#include "harness.hpp"

namespace {

struct Session {
  FPtree* tree;

  // A value is never 0, which is how the tree says that a key is not there.
  bool lookup(uint64_t key, uint64_t& value) {
    value = tree->find(key);
    return value != 0;
  }
  bool insert(uint64_t key, uint64_t value) { return tree->insert(KV(key, value)); }
  bool update(uint64_t key, uint64_t value) { return tree->update(KV(key, value)); }
  bool remove(uint64_t key) { return tree->deleteKey(key); }
  uint64_t scan(uint64_t key, uint64_t entries) {
    static thread_local std::vector<KV> seen;
    seen.resize(entries);
    return tree->rangeScan(key, entries, reinterpret_cast<char*>(seen.data()));
  }
};

struct Table {
  FPtree* tree;
  Session session(uint64_t) { return Session{tree}; }
};

}  // namespace

int main(int count, char** words) {
  const auto job = assay::parse(count, words);
  // Never destroyed: the pool goes as a whole with its file.
  auto* tree = new FPtree;
  tree->pmemInit(job.file.c_str(), static_cast<long long>(job.pool_bytes));
  Table table{tree};
  const int code = assay::run(job, table);
  std::fflush(stdout);
  _exit(code);
}
