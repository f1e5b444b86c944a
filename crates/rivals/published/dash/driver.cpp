// Dash-EH and Dash-LH of their authors, behind the harness.
#include <unistd.h>

#include "libpmemobj.h"

// Their libpmemobj maps a pool at an address that is named, so that pointers in it outlive the process. No pool of a run
// is opened again, so the library as it is distributed does.
inline PMEMobjpool* pmemobj_create_addr(const char* path, const char* layout, size_t bytes, mode_t mode, void*) {
  return pmemobj_create(path, layout, bytes, mode);
}
inline PMEMobjpool* pmemobj_open_addr(const char* path, const char* layout, void*) {
  return pmemobj_open(path, layout);
}

#include "ex_finger.h"
#include "harness.hpp"
#include "lh_finger.h"

namespace {

// A guard of the epoch covers so many operations, as their example and their benchmark have it.
constexpr uint64_t kOperationsOfGuard = 1024;

class Guarded : public assay::Lacking {
 public:
  explicit Guarded(Hash<uint64_t>* hash) : hash_(hash) {}
  Guarded(const Guarded& other) : hash_(other.hash_) {}
  ~Guarded() {
    if (done_ > 0) Allocator::Unprotect();
  }

  bool lookup(uint64_t key, uint64_t& value) {
    enter();
    Value_t found = NONE;
    const bool there = hash_->Get(key, &found, true);
    value = reinterpret_cast<uint64_t>(found);
    return there;
  }
  bool insert(uint64_t key, uint64_t value) {
    enter();
    return hash_->Insert(key, reinterpret_cast<Value_t>(value), true) == 0;
  }
  bool remove(uint64_t key) {
    enter();
    return hash_->Delete(key, true);
  }

 private:
  void enter() {
    if (done_ == kOperationsOfGuard) {
      Allocator::Unprotect();
      done_ = 0;
    }
    if (done_++ == 0) Allocator::Protect();
  }

  Hash<uint64_t>* hash_;
  uint64_t done_ = 0;
};

struct Table {
  Hash<uint64_t>* hash;
  Guarded session(uint64_t) { return Guarded(hash); }
};

// Segments that the extendible table begins with, as in their example.
constexpr size_t kSegments = 64;

Hash<uint64_t>* made(const std::string& structure) {
  auto* pool = Allocator::GetPool();
  if (structure == "dash-eh") {
    return new (Allocator::GetRoot(sizeof(extendible::Finger_EH<uint64_t>)))
        extendible::Finger_EH<uint64_t>(kSegments, pool);
  }
  if (structure == "dash-lh") {
#ifdef PREALLOC
    linear::TlsTablePool<uint64_t>::Initialize();
#endif
    return new (Allocator::GetRoot(sizeof(linear::Linear<uint64_t>))) linear::Linear<uint64_t>(pool);
  }
  assay::refuse("there is no structure " + structure);
}

}  // namespace

int main(int count, char** words) {
  const auto job = assay::parse(count, words);
  Allocator::Initialize(job.file.c_str(), job.pool_bytes);
  Table table{made(job.structure)};
  const int code = assay::run(job, table);
  // What is left of the garbage is the pool's, which goes as a whole.
  std::fflush(stdout);
  _exit(code);
}
