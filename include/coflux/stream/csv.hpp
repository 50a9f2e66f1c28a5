// csv_fields, csv_line: records of fields that commas separate.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coflux::stream {

/// `from(line_source("orders.csv", {.skip = 1, .quoted = true})) | parse(csv_fields())`: the fields of each record.
///
/// A field may be between `"`; then it may have separators, line ends and, as `""`, quotes.
///
/// Errors: bad_text for a quote that never closes, for bytes between a closing quote and the next separator, and
/// for a quote within a field that does not begin with one; it counts fields from 1 on.
/// Source: RFC 4180.
class csv_fields {
public:
    explicit csv_fields(char separator = ',') noexcept : separator_(separator) {}
    [[nodiscard]] std::vector<std::string> operator()(std::string_view record) const;

private:
    char separator_;
};

/// Fields as a record, without the line end; csv_fields() gives them again. One empty field is written as `""`.
[[nodiscard]] std::string csv_line(std::span<const std::string> fields, char separator = ',');

}  // namespace coflux::stream
