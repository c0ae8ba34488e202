// Typed access to a node's parameters as given in NDL or by a builder.
#include "ComputationNetwork/NodeType.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <cmath>

namespace cntk
{

namespace
{

template <class T>
T Parsed(std::string_view name, const std::string& text, std::optional<T> value, const char* expected)
{
    if (!value)
        Fail(ErrorKind::Config, "parameter '", name, "' is '", text, "'; expected ", expected);
    return *value;
}

} // namespace

void NodeParameters::Set(std::string_view name, std::string value)
{
    m_values[ToLower(name)] = std::move(value);
}

bool NodeParameters::Has(std::string_view name) const
{
    return m_values.contains(ToLower(name));
}

std::string NodeParameters::Text(std::string_view name, std::string_view defaultValue) const
{
    const auto found = m_values.find(ToLower(name));
    return found == m_values.end() ? std::string(defaultValue) : found->second;
}

double NodeParameters::Real(std::string_view name, double defaultValue) const
{
    const auto found = m_values.find(ToLower(name));
    if (found == m_values.end())
        return defaultValue;
    const double number = Parsed(name, found->second, ParseDouble(found->second), "a number");
    if (std::isnan(number))
        Fail(ErrorKind::Config, "parameter '", name, "' is '", found->second, "'; expected a number");
    return number;
}

long long NodeParameters::Integer(std::string_view name, long long defaultValue) const
{
    const auto found = m_values.find(ToLower(name));
    if (found == m_values.end())
        return defaultValue;
    return Parsed(name, found->second, ParseInteger(found->second), "a whole number");
}

bool NodeParameters::Boolean(std::string_view name, bool defaultValue) const
{
    const auto found = m_values.find(ToLower(name));
    if (found == m_values.end())
        return defaultValue;
    return Parsed(name, found->second, ParseBool(found->second), "true or false (also t, f, 1, 0)");
}

} // namespace cntk
