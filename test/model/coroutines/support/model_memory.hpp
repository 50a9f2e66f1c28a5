// The frames' memory in a model program.
#pragma once

#include <cstddef>

namespace coflux::model {

/// An interleaving begins: nothing is alive, whatever the last one left behind.
void begin_memory() noexcept;
/// Blocks taken and not freed.
[[nodiscard]] std::size_t living_blocks() noexcept;

}  // namespace coflux::model
