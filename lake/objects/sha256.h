#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lake::objects {

/// SHA-256 of a stream, by OpenSSL. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const uint8_t> bytes);
  void Update(std::string_view bytes);

  /// The digest in 64 lower-case hexadecimal digits. Call it or FinishBytes once, last.
  std::string Finish();
  std::array<uint8_t, 32> FinishBytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lake::objects
