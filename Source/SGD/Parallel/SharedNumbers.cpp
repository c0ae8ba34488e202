#include "SGD/Parallel/SharedNumbers.h"

#include "Common/Text.h"

#include <algorithm>
#include <string>

namespace cntk
{

// One of them has one.
Error SharedNumbers::ErrorOfAll(const std::optional<Error>& own)
{
    const std::vector<std::string> texts = m_workers.Gather(own ? own->Message() : std::string());
    if (own)
        return *own;
    const auto first = std::find_if(texts.begin(), texts.end(), [](const std::string& text) { return !text.empty(); });
    Error error(ErrorKind::Data, first == texts.end() ? "its data could not be read" : *first);
    error.AddNote(Concat("in worker ", first - texts.begin(), " of ", m_workers.Count()));
    return error;
}

std::optional<Error> SharedNumbers::AnyError(const std::optional<Error>& own)
{
    if (!m_workers.Any(own.has_value()))
        return std::nullopt;
    return ErrorOfAll(own);
}

void SharedNumbers::Sum(std::span<double> numbers, const std::optional<Error>& error)
{
    const size_t size = numbers.size() + 1; // the last one: errors
    m_numbers.assign(size * (1 + m_workers.Count()), 0);
    const std::span<double> own(m_numbers.data(), size), all(m_numbers.data() + size, m_numbers.size() - size);
    std::copy(numbers.begin(), numbers.end(), own.begin());
    own.back() = error ? 1 : 0;
    m_workers.Gather(std::as_bytes(own), std::as_writable_bytes(all));
    std::fill(own.begin(), own.end(), 0);
    for (size_t i = 0; i < all.size(); ++i)
        own[i % size] += all[i];
    if (own.back() != 0)
        throw ErrorOfAll(error);
    std::copy(own.begin(), own.end() - 1, numbers.begin());
}

} // namespace cntk
