// BzTree of the data-intensive systems lab at Simon Fraser University, behind the harness.
#include <unistd.h>

#include "bztree.h"
#include "harness.hpp"

namespace {

// Bytes of a leaf, at which it splits and at which it would merge, and descriptors of a thread, as in the wrapper that
// they publish for their benchmark.
constexpr uint32_t kLeafBytes = 1024;
constexpr uint32_t kSplitBytes = 1024;
constexpr uint32_t kMergeBytes = 512;
constexpr uint32_t kDescriptorsOfThread = 1024;

// Keys are compared as bytes.
struct Bytes {
  explicit Bytes(uint64_t key) : word(__builtin_bswap64(key)) {}
  const char* data() const { return reinterpret_cast<const char*>(&word); }
  uint64_t word;
};

struct Session {
  bztree::BzTree* tree;

  bool lookup(uint64_t key, uint64_t& value) { return tree->Read(Bytes(key).data(), sizeof key, &value).IsOk(); }
  bool insert(uint64_t key, uint64_t value) { return tree->Insert(Bytes(key).data(), sizeof key, value).IsOk(); }
  bool update(uint64_t key, uint64_t value) { return tree->Update(Bytes(key).data(), sizeof key, value).IsOk(); }
  bool remove(uint64_t key) { return tree->Delete(Bytes(key).data(), sizeof key).IsOk(); }
  uint64_t scan(uint64_t key, uint64_t entries) {
    const Bytes from(key);
    auto at = tree->RangeScanBySize(from.data(), sizeof key, static_cast<uint32_t>(entries));
    uint64_t seen = 0;
    while (seen < entries && at->GetNext() != nullptr) ++seen;
    return seen;
  }
};

struct Table {
  bztree::BzTree* tree;
  Session session(uint64_t) { return Session{tree}; }
};

bztree::BzTree* made(const assay::Job& job) {
  pmwcas::InitLibrary(pmwcas::PMDKAllocator::Create(job.file.c_str(), "bztree", job.pool_bytes),
                      pmwcas::PMDKAllocator::Destroy, pmwcas::LinuxEnvironment::Create,
                      pmwcas::LinuxEnvironment::Destroy);
  auto* allocator = reinterpret_cast<pmwcas::PMDKAllocator*>(pmwcas::Allocator::Get());
  bztree::Allocator::Init(allocator);
  auto* tree = reinterpret_cast<bztree::BzTree*>(allocator->GetRoot(sizeof(bztree::BzTree)));
  allocator->Allocate(reinterpret_cast<void**>(&tree->pmwcas_pool), sizeof(pmwcas::DescriptorPool));
  // Threads of the load, of the warm-up and of the window, and this one: each takes descriptors of its own.
  const auto threads = static_cast<uint32_t>(3 * job.threads + 1);
  new (tree->pmwcas_pool) pmwcas::DescriptorPool(kDescriptorsOfThread * threads, threads, false);
  const bztree::BzTree::ParameterSet parameters(kSplitBytes, kMergeBytes, kLeafBytes);
  return new (tree) bztree::BzTree(parameters, tree->pmwcas_pool, reinterpret_cast<uint64_t>(allocator->GetPool()));
}

}  // namespace

int main(int count, char** words) {
  const auto job = assay::parse(count, words);
  Table table{made(job)};
  const int code = assay::run(job, table);
  std::fflush(stdout);
  _exit(code);
}
