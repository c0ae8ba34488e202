// Writes numbers as hexadecimal texts, which lose no bit.
#include "SGD/CheckpointExtra.h"

#include <cstdio>
#include <cstdlib>

namespace cntk
{

std::string ExactText(double value)
{
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%a", value);
    return buffer;
}

double NumberOf(const std::map<std::string, std::string>& extra, const std::string& name, double defaultValue)
{
    const auto found = extra.find(name);
    if (found == extra.end())
        return defaultValue;
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    return end != found->second.c_str() && *end == '\0' ? value : defaultValue;
}

std::string TextOf(const std::map<std::string, std::string>& extra, const std::string& name)
{
    const auto found = extra.find(name);
    return found == extra.end() ? "" : found->second;
}

std::string ExactTexts(const std::vector<double>& values)
{
    std::string texts;
    for (const double value : values)
        texts += ExactText(value) + " ";
    return texts;
}

std::vector<double> NumbersOf(const std::map<std::string, std::string>& extra, const std::string& name)
{
    std::vector<double> values;
    const auto found = extra.find(name);
    if (found == extra.end())
        return values;
    const char* text = found->second.c_str();
    for (char* end = nullptr;; text = end)
    {
        const double value = std::strtod(text, &end);
        if (end == text)
            return values;
        values.push_back(value);
    }
}

} // namespace cntk
