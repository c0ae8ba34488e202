// Option records: a parameter of a block is one member of a plain struct and one row of its table. Parsing, range
// checks, help, the generated Options page and did-you-mean use the row.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Config/ErrorCollection.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cntk
{

// A schedule "a*n:b" (book 3.9.2): element i for epoch i. The last element holds for all later epochs.
template <class T>
struct Schedule
{
    std::vector<T> values;

    Schedule() = default;
    Schedule(T value) : values{value} {} // implicit: a constant is a schedule
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

// Description of an option for help and documentation, without its struct's type.
struct OptionInfo
{
    std::string name;
    std::vector<std::string> aliases;
    std::string type; // "bool", "number", "size", "text", "schedule of numbers", "one of none|adagrad", "block", ...
    std::string defaultText; // value of the member initialiser; set by DescribeOptions
    std::string doc;
    std::string range; // "a number >= 0 and < 1"; empty if there is no limit
    bool isRequired = false;
    bool hasNoEffect = false; // accepted because old configs have it
    bool isInputFile = false; // the value names a file that will be opened
};

// Reads, prints and names a member type. Specialise it for further types.
template <class T>
struct OptionType;

template <>
struct OptionType<bool>
{
    static std::string Name() { return "bool"; }
    static bool Read(const ConfigValue& value, const Range&) { return value.AsBool(); }
    static std::string Print(bool value) { return value ? "true" : "false"; }
};

template <>
struct OptionType<std::string>
{
    static std::string Name() { return "text"; }
    static std::string Read(const ConfigValue& value, const Range&) { return value.Text(); }
    static std::string Print(const std::string& value) { return value; }
};

// "a number >= 0 and < 1". what: "a number" or "a whole number". Empty if the range has no limits.
std::string DescribeRange(const Range& range, const char* what);
void CheckRange(const ConfigValue& value, double number, const Range& range, const char* what);
std::string PrintNumber(double value);
std::string PrintNumber(float value);
std::string PrintSize(size_t value);

template <>
struct OptionType<double>
{
    static std::string Name() { return "number"; }
    static double Read(const ConfigValue& value, const Range& range)
    {
        const double number = value.AsDouble();
        CheckRange(value, number, range, "a number");
        return number;
    }
    static std::string Print(double value) { return PrintNumber(value); }
};

// Parsed in double precision, then rounded, same as learning rates and momenta of CNTK v1.1.
template <>
struct OptionType<float>
{
    static std::string Name() { return "number"; }
    static float Read(const ConfigValue& value, const Range& range)
    {
        return static_cast<float>(OptionType<double>::Read(value, range));
    }
    static std::string Print(float value) { return PrintNumber(value); }
};

template <>
struct OptionType<int>
{
    static std::string Name() { return "whole number"; }
    static int Read(const ConfigValue& value, const Range& range)
    {
        const int number = value.AsInt();
        CheckRange(value, number, range, "a whole number");
        return number;
    }
    static std::string Print(int value) { return std::to_string(value); }
};

template <>
struct OptionType<size_t>
{
    static std::string Name() { return "size"; }
    static size_t Read(const ConfigValue& value, const Range& range)
    {
        const size_t number = value.AsSize();
        CheckRange(value, static_cast<double>(number), range, "a whole number");
        return number;
    }
    static std::string Print(size_t value) { return PrintSize(value); }
};

template <class T>
struct OptionType<std::vector<T>>
{
    static std::string Name() { return "list of " + OptionType<T>::Name() + 's'; }
    static std::vector<T> Read(const ConfigValue& value, const Range& range)
    {
        std::vector<T> elements;
        for (const ConfigValue& element : value.AsArray())
            elements.push_back(OptionType<T>::Read(element, range));
        return elements;
    }
    static std::string Print(const std::vector<T>& value)
    {
        std::string text;
        for (size_t i = 0; i < value.size(); ++i)
            text += (i > 0 ? ":" : "") + OptionType<T>::Print(value[i]);
        return text;
    }
};

template <class T>
struct OptionType<Schedule<T>>
{
    static std::string Name() { return "schedule of " + OptionType<T>::Name() + 's'; }
    static Schedule<T> Read(const ConfigValue& value, const Range& range)
    {
        Schedule<T> schedule;
        schedule.values = OptionType<std::vector<T>>::Read(value, range);
        return schedule;
    }
    static std::string Print(const Schedule<T>& value) { return OptionType<std::vector<T>>::Print(value.values); }
};

// True for a schedule without values.
template <class T>
bool IsEmptySchedule(const T&)
{
    return false;
}
template <class T>
bool IsEmptySchedule(const Schedule<T>& schedule)
{
    return schedule.empty();
}

// True if the text of a list has more than brackets. `0.1*0` repeats its value zero times and yields no element.
bool HasElements(const ConfigValue& value);

template <class T>
struct OptionType<std::optional<T>>
{
    static std::string Name() { return OptionType<T>::Name(); }
    static std::optional<T> Read(const ConfigValue& value, const Range& range)
    {
        return OptionType<T>::Read(value, range);
    }
    static std::string Print(const std::optional<T>& value) { return value ? OptionType<T>::Print(*value) : ""; }
};

// True for types of real numbers, which messages call "a number" instead of "a whole number".
template <class T>
inline constexpr bool c_holdsReals = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool c_holdsReals<std::vector<T>> = c_holdsReals<T>;
template <class T>
inline constexpr bool c_holdsReals<std::optional<T>> = c_holdsReals<T>;
template <class T>
inline constexpr bool c_holdsReals<Schedule<T>> = c_holdsReals<T>;

template <class S>
struct Option
{
    OptionInfo info;
    std::function<void(S&, const ConfigValue&)> read;           // empty for blocks
    std::function<void(S&, const ConfigParameters&)> readBlock; // blocks only; may be empty
    std::function<std::string(const S&)> print;
    bool isLocal = false;

    // A missing or empty value is an error with path and position.
    Option Required() &&
    {
        info.isRequired = true;
        return std::move(*this);
    }
    // The option is accepted because old configs have it. The doc may say why it has no effect.
    Option WithoutEffect() &&
    {
        info.hasNoEffect = true;
        info.doc.insert(0, info.doc.empty() ? "accepted, without effect" : "accepted, without effect: ");
        return std::move(*this);
    }
    // A value names a file that the reader of the block will open. Checks before training use this.
    Option InputFile() &&
    {
        info.isInputFile = true;
        return std::move(*this);
    }
    // The option is looked up only in its block, not in enclosing blocks.
    Option Here() &&
    {
        isLocal = true;
        return std::move(*this);
    }
};

// Rows: Opt("momentumPerMB", &SgdOptions::momentumPerMB, "doc", Range{.min = 0, .max = 1, .maxOpen = true},
// {"aliases"}) for members of all types with an OptionType: bool, int, size_t, double, float, std::string, and
// std::vector, std::optional and Schedule of these; Choice(...) for enums; Nested(...) and Block(...) for blocks
// inside.
template <class S>
using OptionTable = std::vector<Option<S>>;

template <class S, class T>
Option<S> Opt(std::string name, T S::*member, std::string doc, Range range = {}, std::vector<std::string> aliases = {})
{
    Option<S> option;
    option.info.name = std::move(name);
    option.info.aliases = std::move(aliases);
    option.info.type = OptionType<T>::Name();
    option.info.doc = std::move(doc);
    option.info.range = DescribeRange(range, c_holdsReals<T> ? "a number" : "a whole number");
    option.read = [member, range](S& options, const ConfigValue& value)
    {
        T read = OptionType<T>::Read(value, range);
        // An empty schedule is allowed only if the default is empty. 0.1*0 is never allowed.
        if (IsEmptySchedule(read) && (!IsEmptySchedule(options.*member) || HasElements(value)))
            value.FailExpected("at least one value");
        options.*member = std::move(read);
    };
    option.print = [member](const S& options) { return OptionType<T>::Print(options.*member); };
    return option;
}

template <class S, class T>
Option<S> Opt(std::string name, T S::*member, std::string doc, std::vector<std::string> aliases)
{
    return Opt(std::move(name), member, std::move(doc), Range{}, std::move(aliases));
}

// Returns the index of the value's word, in any case. Fails with the list of words if there is none.
size_t ReadChoice(const ConfigValue& value, const std::vector<std::string>& words);

// Row for an enum. Words are read in any case. Help shows the first word of a value.
template <class S, class E>
Option<S> Choice(std::string name, E S::*member,
                 std::type_identity_t<std::vector<std::pair<std::string, E>>> wordsAndValues, std::string doc,
                 std::vector<std::string> aliases = {})
{
    std::vector<std::string> words;
    std::vector<E> values;
    for (const auto& [word, value] : wordsAndValues)
    {
        words.push_back(word);
        values.push_back(value);
    }
    Option<S> option;
    option.info.name = std::move(name);
    option.info.aliases = std::move(aliases);
    option.info.type = "one of ";
    for (size_t i = 0; i < words.size(); ++i)
        option.info.type += (i > 0 ? "|" : "") + words[i];
    option.info.doc = std::move(doc);
    option.read = [member, words, values](S& options, const ConfigValue& value)
    { options.*member = values[ReadChoice(value, words)]; };
    option.print = [member, words, values](const S& options)
    {
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i] == options.*member)
                return words[i];
        return std::string();
    };
    return option;
}

template <class S>
S ReadOptions(const ConfigParameters& block);

// Row for a block inside this one that is read into its own struct. A scalar of that name is ignored.
template <class S, class Inner>
Option<S> Nested(std::string name, Inner S::*member, std::string doc, std::vector<std::string> aliases = {})
{
    Option<S> option;
    option.info.name = std::move(name);
    option.info.aliases = std::move(aliases);
    option.info.type = "block";
    option.info.doc = std::move(doc);
    option.readBlock = [member](S& options, const ConfigParameters& block)
    { options.*member = ReadOptions<Inner>(block); };
    return option;
}

// Row for a block inside this one that other code reads, for help and for messages about misplaced blocks.
template <class S>
Option<S> Block(std::string name, std::string doc, std::vector<std::string> aliases = {})
{
    Option<S> option;
    option.info.name = std::move(name);
    option.info.aliases = std::move(aliases);
    option.info.type = "block";
    option.info.doc = std::move(doc);
    return option;
}

// Returns the value under the option's name or an alias, from the innermost block that has any of them.
std::optional<ConfigValue> FindOption(const ConfigParameters& block, const OptionInfo& info, bool isLocal);
const ConfigParameters* FindOptionBlock(const ConfigParameters& block, const OptionInfo& info, bool isLocal);
[[noreturn]] void FailMissing(const ConfigParameters& block, const OptionInfo& info, bool isLocal);

template <class S>
void ReadOption(const ConfigParameters& block, const Option<S>& option, S& options)
{
    if (!option.read)
    {
        const ConfigParameters* const inner =
            option.readBlock ? FindOptionBlock(block, option.info, option.isLocal) : nullptr;
        if (inner)
            option.readBlock(options, *inner);
        return;
    }
    const std::optional<ConfigValue> value = FindOption(block, option.info, option.isLocal);
    if (option.info.isRequired && (!value || value->Text().empty()))
        FailMissing(block, option.info, option.isLocal);
    if (value)
        option.read(options, *value);
}

// Reads every row of S::Options() from the block or its enclosing blocks. Defaults are the member initialisers. Fails
// with the first wrong value; notes describe the others.
template <class S>
S ReadOptions(const ConfigParameters& block)
{
    S options{};
    ErrorCollection errors;
    for (const Option<S>& option : S::Options())
        errors.Try([&] { ReadOption(block, option, options); });
    errors.ThrowIfAny();
    return options;
}

template <class S>
std::vector<OptionInfo> DescribeOptions()
{
    const S defaults{};
    std::vector<OptionInfo> infos;
    for (const Option<S>& option : S::Options())
    {
        infos.push_back(option.info);
        if (option.print)
            infos.back().defaultText = option.print(defaults);
    }
    return infos;
}

} // namespace cntk
