// The page that shows what the program does.
#pragma once

#include <string_view>

namespace coflux::detail {

/// Made of page.html when the library is built.
extern const std::string_view inspector_page;

}  // namespace coflux::detail
