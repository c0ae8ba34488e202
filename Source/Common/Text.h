// Small text functions: case folding, trimming, splitting, strict numbers, did-you-mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

std::string ToLower(std::string_view text); // ASCII
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
// Case-insensitive order; what the original sorts node names by.
bool LessIgnoreCase(std::string_view a, std::string_view b);
std::string_view Trim(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Cells of a terminal that UTF-8 text takes: none for combining marks, two for wide characters (Chinese, emoji).
size_t CellsOf(std::string_view text);
// Where the character that the offset lies in begins.
size_t BeginOfCharacter(std::string_view text, size_t offset);

// The whole text must be the number. ParseDouble takes what strtod takes, and 1#INF, -1#INF, 1.#INF, 1#IND in any case.
std::optional<double> ParseDouble(std::string_view text);
std::optional<long long> ParseInteger(std::string_view text);
std::optional<unsigned long long> ParseSize(std::string_view text); // base 10, no minus sign
std::optional<bool> ParseBool(std::string_view text);               // t true 1 f false 0 and "", any case

// Names that the user may have meant, nearest first; none that is far away. Case is ignored.
std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& candidates,
                                      size_t most = 3);
// "; did you mean 'x'?" / "; did you mean 'x' or 'y'?" / ""
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

} // namespace cntk
