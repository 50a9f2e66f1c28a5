// A schedule in the environment of a program: as text, or as the name of a file that holds it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing::detail {

/// The value for the variable COFLUX_SCHEDULE: the text of to_text(); if that is too long for a line, it is put
/// into a file of the folder for temporary files, and this is `@` and its name. The same schedule has the same file.
/// Errors: where no file can be written, the text after all.
[[nodiscard]] std::string schedule_variable(std::span<const decision> schedule);

/// The text of to_text() that such a variable means; nothing if it names a file that cannot be read.
[[nodiscard]] std::optional<std::string> schedule_of_variable(std::string_view variable);

}  // namespace coflux::testing::detail
