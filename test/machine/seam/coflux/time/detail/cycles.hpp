// The machine's seam for the processor's count of cycles: 3 GHz.
#pragma once

#include <cstdint>

#include "../../../../machine.hpp"

namespace coflux::detail {

inline std::uint64_t cycles_now() noexcept {
    return machine::cycles();
}

}  // namespace coflux::detail
