// Option records: a parameter of a block is one member of a plain struct and one row of its table. Parsing, range checks,
// help, the generated Options page and did-you-mean all read the row.
#pragma once

#include "Common/Config/ConfigParameters.h"

#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace cntk
{

// A schedule "a*n:b" (book 3.9.2): element i for epoch i, the last one for ever after.
template <class T>
struct Schedule
{
    std::vector<T> values;

    Schedule() = default;
    Schedule(T value) : values{value} {} // a constant is a schedule: implicit on purpose
    const T& operator[](size_t index) const { return index < values.size() ? values[index] : values.back(); }
    bool empty() const { return values.empty(); }
    size_t size() const { return values.size(); }
};

struct Range
{
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    bool minOpen = false; // (min, ...
    bool maxOpen = false; // ..., max)
};

// What help and documentation need of an option, without its struct's type.
struct OptionInfo
{
    std::string name;
    std::vector<std::string> aliases;
    std::string type; // "bool", "number", "size", "text", "schedule of numbers", "one of none|adagrad", "block", ...
    std::string defaultText;
    std::string doc;
};

template <class S>
struct Option
{
    OptionInfo info;
    std::function<void(S&, const ConfigValue&)> read;
};

// Rows: Opt("momentumPerMB", &SgdOptions::momentumPerMB, "doc", Range{0, 1, false, true}, {"aliases"})
// Overloads for bool, int, size_t, double, float, std::string, std::vector<std::string>, Schedule<...>,
// and Choice("gradUpdateType", &S::member, {{"none", Rule::None}, ...}, "doc") for enums (words in any case).
template <class S>
using OptionTable = std::vector<Option<S>>;

// Reads every row of S::Options() from the block (outwards look-up); defaults are the member initialisers.
// template <class S> S ReadOptions(const ConfigParameters& block);
// template <class S> std::vector<OptionInfo> DescribeOptions();

} // namespace cntk
