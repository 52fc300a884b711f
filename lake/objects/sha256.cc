#include "lake/objects/sha256.h"

#include <cstdlib>

#include <openssl/evp.h>

namespace lake::objects {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  ~State() { EVP_MD_CTX_free(context); }
};

namespace {

// EVP calls on a digest that was set up only fail if the process is out of memory or OpenSSL is
// broken; no result that depends on a digest could be trusted then.
void Require(bool done) {
  if (!done) std::abort();
}

}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) {
  Require(state_->context != nullptr &&
          EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const uint8_t> bytes) {
  Require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

void Sha256::Update(std::string_view bytes) {
  Require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::array<uint8_t, 32> Sha256::FinishBytes() {
  std::array<uint8_t, 32> digest;
  unsigned int size = 0;
  Require(EVP_MD_CTX_get_size(state_->context) == static_cast<int>(digest.size()) &&
          EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1);
  return digest;
}

std::string Sha256::Finish() {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : FinishBytes()) {
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 15]);
  }
  return text;
}

}  // namespace lake::objects
