// Keys and values of ids, as crates/index makes them for words of 8 bytes, and the choice of ids.
#pragma once

#include <cstdint>

namespace assay {

// Ids from here on are never inserted: lookups of them miss.
constexpr uint64_t kMissing = 1ULL << 63;
// Programs mark words with their upper bits: values keep them clear.
constexpr int kMarkBits = 3;

// A bijection of words: the finaliser of MurmurHash3, which is in the public domain.
inline uint64_t mix(uint64_t word) {
  word ^= word >> 33;
  word *= 0xFF51AFD7ED558CCDULL;
  word ^= word >> 33;
  word *= 0xC4CEB9FE1A85EC53ULL;
  return word ^ (word >> 33);
}

class Entries {
 public:
  explicit Entries(uint64_t seed) : secret_(mix(seed ^ 0xA55A123487655AA5ULL)) {}

  uint64_t key(uint64_t id) const { return mix(id ^ secret_); }

  // Tells whose it is in the upper half, and who wrote it in the lower one; never 0.
  uint64_t value(uint64_t key, uint32_t writer) const { return mark(key) | writer; }

  bool is_value(uint64_t key, uint64_t value) const { return (value >> 32 << 32) == mark(key); }

 private:
  static uint64_t mark(uint64_t key) {
    return mix(key ^ 0x5EED5EED5EED5EEDULL) >> (32 + kMarkBits) << 32 | 1ULL << 32;
  }

  uint64_t secret_;
};

// xoshiro256++ (Blackman and Vigna, 2019), seeded by the bijection above.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (auto& word : state_) word = mix(seed += 0x9E3779B97F4A7C15ULL);
  }

  uint64_t next() {
    const uint64_t result = turned(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = turned(state_[3], 45);
    return result;
  }

  // A number below `bound`.
  uint64_t below(uint64_t bound) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64); }

 private:
  static uint64_t turned(uint64_t word, int by) { return word << by | word >> (64 - by); }

  uint64_t state_[4];
};

}  // namespace assay
