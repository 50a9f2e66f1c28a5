// The places of awaits, as text.
#pragma once

#include <cstdint>

#include "core/detail/readable_name.hpp"
#include "inspect/bounded_text.hpp"
#include "inspect/snapshot.hpp"

namespace coflux::detail::inspection {

/// Places that were read, in pages of the system: neighbours often are at one place.
class places {
public:
    explicit places(const snapshot& of) noexcept
        : of_(of),
          known_(static_cast<known*>(os::map_pages(sizeof(known) * count))) {}
    ~places() {
        if (known_ != nullptr) os::unmap_pages(known_, sizeof(known) * count);
    }
    places(const places&) = delete;
    places& operator=(const places&) = delete;

    /// False: no pages.
    explicit operator bool() const noexcept { return known_ != nullptr; }

    [[nodiscard]] const snapshot::place& at(std::uint64_t address) noexcept {
        known& k = known_[(address / 8) % count];
        if (k.address != address || address == 0) {
            k.place = of_.place_at(address);
            k.address = address;
        }
        return k.place;
    }
    /// `f at file:line`.
    void write(std::uint64_t address, bounded_text& to) noexcept {
        const snapshot::place& p = at(address);
        if (p.line == 0) {
            to.add("a coroutine whose place is not known");
        } else {
            to.add(readable_name(p.function).c_str()).add(" at ").add(p.file).add(":").add(p.line);
        }
    }

private:
    struct known {
        std::uint64_t address;
        snapshot::place place;
    };
    static constexpr std::size_t count = 64;

    const snapshot& of_;
    known* known_;
};

/// In place of the thread of one that runs.
inline constexpr std::uint64_t several_workers = ~std::uint64_t{0};
/// `waits for a mutex at 0x…`, and what it does else.
void write_state(const snapshot& s, const found_coroutine& c, places& where, bounded_text& to) noexcept;

}  // namespace coflux::detail::inspection
