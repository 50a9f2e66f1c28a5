// The commands of `coflux-stream dlq`. The page docs/design/stream_ends.md says what they promise.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>

namespace coflux_stream {

/// A command cannot do its work. The text is for the user.
class failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Which letters of a file are meant; what is empty means all.
struct selection {
    std::string job;
    std::string partition;
    std::string stage;
    std::string error;                   ///< a part of it
    std::vector<std::uint64_t> numbers;  ///< of their lines, from 1 on
    std::vector<std::uint64_t> without;
};

struct replay_options {
    std::string to;           ///< a file that is made; empty: standard output
    bool once = false;        ///< a letter that is there again is left out
    bool quoted = false;      ///< values may have line ends between quotes, as in CSV
    bool with_empty = false;  ///< a value without bytes is an empty line
};

/// A line for each letter on standard output.
/// Errors: failure, behind the letters, where a line is no letter; it was told on standard error.
[[nodiscard]] coflux::call<void> list(coflux::environment& here, const std::string& path, const selection& wanted);
/// All of letter `number`; with `raw` the bytes of its value alone.
/// Errors: failure where there is none.
[[nodiscard]] coflux::call<void> show(coflux::environment& here, const std::string& path, std::uint64_t number,
                                      bool raw);
/// The values of letters, each as a line.
/// Errors: failure, and nothing was written, where a letter cannot be a line, or a line is no letter; each was told on
/// standard error.
[[nodiscard]] coflux::call<void> replay(coflux::environment& here, const std::string& path, const selection& wanted,
                                        const replay_options& options);

}  // namespace coflux_stream
