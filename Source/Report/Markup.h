// Text for HTML, SVG and CSV: escaping, and numbers in their shortest form.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Escapes text for an element or an attribute of HTML or XML. Bytes that are no UTF-8, and characters that XML forbids,
// become U+FFFD.
std::string EscapeMarkup(std::string_view text);

// Replaces bytes that are no UTF-8 with U+FFFD.
std::string ValidUtf8(std::string_view text);

// A field of a CSV file (RFC 4180): in quotes if it holds a comma, a quote or a line end.
std::string CsvField(std::string_view text);

// The shortest text that reads back as the same number: "0.1", "1e+30", "nan".
std::string ShortestNumber(double value);

// At most so many significant digits: "0.0744", "12.3", "1.2e-07".
std::string RoundedNumber(double value, int digits);

} // namespace cntk
