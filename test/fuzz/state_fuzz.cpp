// State that is read again: any bytes are a state or are the error corrupt_state, and what was read is what is written.
// The first byte says which state it is: values, windows or a join; operators that have read one go on with it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/stream/join.hpp>
#include <coflux/stream/state.hpp>
#include <coflux/stream/window.hpp>

#include "fuzz/program.hpp"
#include "unit/stream/slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using coflux_test::ms;
using values = std::tuple<bool, std::optional<std::string>, std::vector<std::pair<std::int32_t, std::optional<bool>>>,
                          std::chrono::milliseconds, stream::event_time, std::uint8_t>;

void read_values(std::span<const std::byte> bytes) {
    try {
        stream::state_reader in(bytes);
        values read;
        in(read);
        std::vector<std::byte> again;
        stream::state_writer out(again);
        out(read);
        const auto taken = bytes.first(bytes.size() - in.left());
        COFLUX_VERIFY(std::ranges::equal(again, taken), "what is written");
    } catch (const stream::corrupt_state&) {}
}

/// `Go` uses the operators that have read it.
template <typename Slot, typename Go>
void read_operators(std::span<const std::byte> bytes, Slot& slot, Go go) {
    try {
        slot.load(bytes);
    } catch (const stream::corrupt_state&) {
        return;
    }
    go();
    slot.restart();
    slot.advance(stream::end_of_time);
}

template <typename Stage>
void read_windows(std::span<const std::byte> bytes, Stage stage) {
    auto slot = coflux_test::drive<int, int>(std::move(stage));
    read_operators(bytes, slot, [&] {
        slot.process(1, ms(5), 7);
        slot.advance(ms(9));
        slot.process(2, ms(5), 7);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    switch (data[0] % 5) {
    case 0: read_values(bytes); break;
    case 1: read_windows(bytes, stream::window(stream::tumbling(10ms), stream::count())); break;
    case 2: read_windows(bytes, stream::window(stream::sliding(10ms, 5ms), stream::count())); break;
    case 3: read_windows(bytes, stream::window(stream::session(10ms), stream::count())); break;
    default: {
        using either = std::variant<std::string, int>;
        auto slot = coflux_test::drive<either, int>(
            stream::join(stream::within(-10ms, 10ms), [](const std::string& l, int r) { return std::pair(l, r); }));
        read_operators(bytes, slot, [&] {
            slot.process(1, ms(5), either(7));
            slot.process(1, ms(6), either("left"));
        });
    }
    }
    return 0;
}
