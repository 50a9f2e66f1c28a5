// Programs over the whole public API, in a simulation whose schedule is made of bytes, too: the grammar and the
// interpreter of test/simulation. The first byte says how long the program is; what follows it chooses which coroutine
// runs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

#include "fuzz/program.hpp"
#include "simulation/trial.hpp"

namespace coflux_simulations {

programs& all_programs() {
    static programs list;
    return list;
}

namespace {

/// Takes its decisions from bytes; behind their end, what waits longest.
class byte_chooser final : public coflux::testing::chooser {
public:
    explicit byte_chooser(coflux_fuzz::program p) noexcept : bytes_(p) {}
    std::size_t choose(coflux::testing::choice, std::span<const std::uint64_t> candidates) noexcept override {
        return bytes_.byte() % candidates.size();
    }

private:
    coflux_fuzz::program bytes_;
};

}  // namespace
}  // namespace coflux_simulations

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace coflux_simulations;
    if (size == 0) return 0;
    const std::size_t length = std::min<std::size_t>(bytes[0], size - 1);
    coflux_fuzz::program program(bytes + 1, length);
    byte_chooser chooser(coflux_fuzz::program(bytes + 1 + length, size - 1 - length));
    counted_frames frames;
    const simulation world(chooser);
    {
        trial t(0);
        t.choose = [&program](std::size_t n) { return program.below(n); };
        try {
            auto env = coflux::make_environment(t.first, t.second, &frames);
            all_programs().front().begin(env, borrowed(t)).join();
        } catch (const std::exception& e) {
            COFLUX_VERIFY(false, "the program ends with: %s", e.what());
        }
        COFLUX_VERIFY(t.broken() == nullptr, "does not hold: %s", t.broken());
        COFLUX_VERIFY(t.live == 0, "%d parts are alive", t.live.load());
    }
    COFLUX_VERIFY(frames.live == 0, "%zu frames are alive", frames.live.load());
    return 0;
}
