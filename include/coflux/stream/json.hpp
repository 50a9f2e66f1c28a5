// json_to, to_json: values in JSON. Needs nlohmann/json, which its users bring.
#pragma once

#if !__has_include(<nlohmann/json.hpp>)
#    error "coflux: <coflux/stream/json.hpp> needs nlohmann/json: install nlohmann-json3-dev (Debian), or its headers"
#endif

#include <string>
#include <string_view>

#include <coflux/stream/parse.hpp>
#include <nlohmann/json.hpp>

namespace coflux::stream {

/// `from(line_source("orders.jsonl")) | parse(json_to<order>())`: each line is a value in JSON.
///
/// Shapes: a T that nlohmann::json converts to, or nlohmann::json itself.
/// Errors: nlohmann::json::exception, which parse() makes a bad_text: what is no JSON, is cut off, is not UTF-8, or has
/// not what a T needs. bad_text where arrays and objects are nested more than 512 times. nlohmann::json converts a
/// number to the type of a member without an error, also one that this cannot hold: check there what must not be cut.
template <typename T>
struct json_to {
    [[nodiscard]] T operator()(std::string_view text) const {
        detail::check_nesting(text);
        return nlohmann::json::parse(text).template get<T>();
    }
};

/// `| map(to_json()) | to(line_sink("out.jsonl"))`: each value as one line of JSON.
///
/// Shapes: a value that nlohmann::json can be made of.
/// Errors: nlohmann::json::exception for a string that is not UTF-8.
struct to_json {
    template <typename T>
    [[nodiscard]] std::string operator()(const T& value) const {
        return nlohmann::json(value).dump();
    }
};

}  // namespace coflux::stream
