#include <coflux/kafka/decode.hpp>

#include <string>

#include "input.hpp"

namespace coflux::kafka {

bad_message::bad_message(const message& of, std::string_view why)
    : std::runtime_error("coflux: " + detail::stream_name_of(of.topic(), of.partition()) + ", offset " +
                         std::to_string(of.offset()) + ": " + std::string(why)) {}

}  // namespace coflux::kafka
