// Times by chain of coroutines, while a profile is made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <coflux/inspect/profile.hpp>

namespace coflux::detail {

/// Numbers for the texts of frames: a text is made once, also while the code that it names is there.
class frame_names {
public:
    using name = std::uint32_t;

    /// Errors: std::bad_alloc; so the others.
    [[nodiscard]] name of_place(std::uint64_t address);
    [[nodiscard]] name of_text(std::string text);
    [[nodiscard]] const std::string& operator[](name n) const noexcept { return *texts_[n]; }

private:
    std::unordered_map<std::uint64_t, name> places_;
    std::unordered_map<std::string, name> names_;
    std::vector<const std::string*> texts_;  // the keys of names_, which stay where they are
};

/// Sums for equal chains.
class stack_times {
public:
    using chain = std::vector<frame_names::name>;  ///< innermost first

    /// `thing`: the address of what it waits for, or 0. Errors: std::bad_alloc.
    void add(const chain& of, std::uint64_t time, std::uint64_t count, std::uint64_t thing = 0);
    /// Those of most time first. Errors: std::bad_alloc.
    [[nodiscard]] std::vector<inspect::profile_stack> all(const frame_names& names) const;

private:
    struct total {
        std::uint64_t time = 0;
        std::uint64_t count = 0;
        std::uint64_t thing = 0;  // 0: several, or none
    };
    std::map<chain, total> totals_;
};

}  // namespace coflux::detail
