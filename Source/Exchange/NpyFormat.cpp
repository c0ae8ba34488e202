#include "Exchange/NpyFormat.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace cntk
{

namespace
{

constexpr std::string_view c_npyMagic("\x93NUMPY", 6);

// Reads the header's text, a Python dictionary with the keys descr, fortran_order and shape.
class NpyDictionary
{
public:
    NpyDictionary(std::string_view text, const std::string& what) : m_text(text), m_what(what) {}

    void Read(NpyHeader& header)
    {
        Expect('{');
        bool hasType = false, hasOrder = false, hasShape = false;
        while (!Accept('}'))
        {
            const std::string_view key = QuotedText();
            Expect(':');
            if (key == "descr" && !hasType)
                hasType = ReadType(header);
            else if (key == "fortran_order" && !hasOrder)
                hasOrder = ReadOrder(header);
            else if (key == "shape" && !hasShape)
                hasShape = ReadShape(header);
            else
                Damaged(Concat("the keys descr, fortran_order and shape, found '", key, "'"));
            if (!Accept(','))
            {
                Expect('}');
                break;
            }
        }
        SkipBlanks();
        if (m_position != m_text.size() || !hasType || !hasOrder || !hasShape)
            Damaged("the keys descr, fortran_order and shape, each once");
    }

private:
    [[noreturn]] void Damaged(std::string_view expected) const
    {
        Fail(ErrorKind::Data, m_what, " has a damaged npy header: expected ", expected);
    }

    void SkipBlanks()
    {
        while (m_position < m_text.size() && (IsBlank(m_text[m_position]) || m_text[m_position] == '\n'))
            m_position++;
    }

    bool Accept(char c)
    {
        SkipBlanks();
        if (m_position >= m_text.size() || m_text[m_position] != c)
            return false;
        m_position++;
        return true;
    }

    void Expect(char c)
    {
        if (!Accept(c))
            Damaged(Concat("'", c, "' at character ", m_position + 1, " of the header"));
    }

    std::string_view QuotedText()
    {
        SkipBlanks();
        const char quote = m_position < m_text.size() ? m_text[m_position] : '\0';
        if (quote != '\'' && quote != '"')
            Damaged(Concat("a quoted word at character ", m_position + 1, " of the header"));
        const size_t end = m_text.find(quote, m_position + 1);
        if (end == std::string_view::npos)
            Damaged("a closing quote");
        const std::string_view word = m_text.substr(m_position + 1, end - m_position - 1);
        m_position = end + 1;
        return word;
    }

    bool ReadType(NpyHeader& header)
    {
        SkipBlanks();
        if (m_position < m_text.size() && m_text[m_position] == '[')
            Fail(ErrorKind::Data, m_what, " holds records; expected numbers of type <f4, <f8, >f4, >f8 or <f2");
        const std::string_view descr = QuotedText();
        struct Known
        {
            std::string_view descr;
            NpyType type;
            bool isBigEndian;
        };
        constexpr Known c_known[] = {{"<f2", NpyType::Half, false},   {"<f4", NpyType::Float, false},
                                     {"<f8", NpyType::Double, false}, {">f4", NpyType::Float, true},
                                     {">f8", NpyType::Double, true},  {"|u1", NpyType::Byte, false}};
        for (const Known& known : c_known)
            if (known.descr == descr)
            {
                header.type = known.type;
                header.isBigEndian = known.isBigEndian;
                return true;
            }
        if (descr.find('O') != std::string_view::npos)
            Fail(ErrorKind::Data, m_what, " holds pickled Python objects ('", descr,
                 "'), which are never read; expected numbers of type <f4, <f8, >f4, >f8 or <f2");
        Fail(ErrorKind::Data, m_what, " has elements of type '", descr, "'; expected <f4, <f8, >f4, >f8 or <f2");
    }

    bool ReadOrder(NpyHeader& header)
    {
        SkipBlanks();
        for (const std::string_view word : {"True", "False"})
            if (m_text.substr(m_position).starts_with(word))
            {
                m_position += word.size();
                header.isFortranOrder = word == "True";
                return true;
            }
        Damaged("fortran_order to be True or False");
    }

    bool ReadShape(NpyHeader& header)
    {
        Expect('(');
        while (!Accept(')'))
        {
            SkipBlanks();
            const size_t begin = m_position;
            while (m_position < m_text.size() && IsDigit(m_text[m_position]))
                m_position++;
            const auto dimension = ParseSize(m_text.substr(begin, m_position - begin));
            if (!dimension)
                Damaged("whole numbers in shape");
            if (header.shape.size() == TensorShape::c_maxRank)
                Damaged(Concat("at most ", TensorShape::c_maxRank, " dimensions"));
            header.shape.push_back(*dimension);
            if (m_position < m_text.size() && m_text[m_position] == 'L') // Python 2 on Windows wrote (3L, 4L)
                m_position++;
            if (!Accept(','))
            {
                Expect(')');
                break;
            }
        }
        return true;
    }

    std::string_view m_text;
    const std::string& m_what;
    size_t m_position = 0;
};

// Returns the product, or nothing if it exceeds 64 bits.
std::optional<uint64_t> ProductOf(const std::vector<uint64_t>& factors)
{
    uint64_t product = 1;
    for (const uint64_t factor : factors)
        if (__builtin_mul_overflow(product, factor, &product))
            return std::nullopt;
    return product;
}

} // namespace

size_t NpyHeader::ElementSize() const
{
    switch (type)
    {
    case NpyType::Half:
        return 2;
    case NpyType::Float:
        return 4;
    case NpyType::Double:
        return 8;
    case NpyType::Byte:
        break;
    }
    return 1;
}

std::string NpyHeader::ShapeText() const
{
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i)
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

NpyHeader ParseNpyHeader(std::string_view beginning, uint64_t bytes, const std::string& what)
{
    if (beginning.size() < 10 || !beginning.starts_with(c_npyMagic))
        Fail(ErrorKind::Data, what, " is no npy array: expected the bytes \\x93NUMPY and a version");
    const int version = uint8_t(beginning[6]);
    if (version < 1 || version > 3)
        Fail(ErrorKind::Data, what, " has npy version ", version, "; expected 1 to 3");
    const size_t lengthBytes = version == 1 ? 2 : 4;
    const size_t begin = 8 + lengthBytes;
    if (beginning.size() < begin)
        Fail(ErrorKind::Data, what, " ends within its npy header");
    uint64_t length = 0;
    for (size_t i = 0; i < lengthBytes; ++i)
        length |= uint64_t(uint8_t(beginning[8 + i])) << (8 * i);
    if (length > bytes - begin)
        Fail(ErrorKind::Data, what, " promises an npy header of ", length, " bytes, but has ", bytes, " bytes in all");
    if (begin + length > c_longestNpyHeader || begin + length > beginning.size())
        Fail(ErrorKind::Data, what, " has an npy header of ", length, " bytes; expected less than ",
             c_longestNpyHeader);
    NpyHeader header;
    NpyDictionary(beginning.substr(begin, length), what).Read(header);
    header.dataBegin = begin + length;

    const std::optional<uint64_t> elements = ProductOf(header.shape);
    uint64_t needed = 0;
    if (!elements || __builtin_mul_overflow(*elements, header.ElementSize(), &needed) ||
        needed != bytes - header.dataBegin)
        Fail(ErrorKind::Data, what, " has shape ", header.ShapeText(), " of ", header.ElementSize(),
             "-byte elements, which does not agree with its ", bytes - header.dataBegin, " bytes of data");
    header.elements = *elements;
    return header;
}

std::string MakeNpyHeader(std::string_view descr, std::span<const size_t> shape)
{
    std::string dims;
    for (size_t i = 0; i < shape.size(); ++i)
        dims += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    if (shape.size() == 1)
        dims += ',';
    std::string dictionary = Concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
    constexpr size_t c_begin = 10;
    constexpr size_t c_alignment = 64;
    const size_t length = (c_begin + dictionary.size() + 1 + c_alignment - 1) / c_alignment * c_alignment - c_begin;
    dictionary.resize(length - 1, ' ');
    dictionary += '\n';
    std::string header(c_npyMagic);
    header += '\1';
    header += '\0';
    header += char(length & 0xFF);
    header += char(length >> 8);
    return header + dictionary;
}

namespace
{

double FromHalf(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1F;
    const double fraction = bits & 0x3FF;
    double value = 0;
    if (exponent == 0x1F)
        value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(fraction, -24);
    else
        value = std::ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -value : value;
}

template <class Bits>
Bits BitsAt(const std::byte* source, size_t index, bool isBigEndian)
{
    std::byte bytes[sizeof(Bits)];
    std::memcpy(bytes, source + index * sizeof(Bits), sizeof(Bits));
    if (isBigEndian)
        std::reverse(std::begin(bytes), std::end(bytes));
    return std::bit_cast<Bits>(bytes);
}

// Calls visit(valueAt), a function that returns the element at an index in its own type.
template <class Visit>
void VisitNpyElements(const NpyHeader& header, const std::byte* source, Visit&& visit)
{
    const bool isBigEndian = header.isBigEndian;
    switch (header.type)
    {
    case NpyType::Half:
        return visit([=](size_t i) { return FromHalf(BitsAt<uint16_t>(source, i, isBigEndian)); });
    case NpyType::Float:
        if (!isBigEndian)
            return visit([=](size_t i) { return std::bit_cast<float>(BitsAt<uint32_t>(source, i, false)); });
        return visit([=](size_t i) { return std::bit_cast<float>(BitsAt<uint32_t>(source, i, true)); });
    case NpyType::Double:
        if (!isBigEndian)
            return visit([=](size_t i) { return std::bit_cast<double>(BitsAt<uint64_t>(source, i, false)); });
        return visit([=](size_t i) { return std::bit_cast<double>(BitsAt<uint64_t>(source, i, true)); });
    case NpyType::Byte:
        return visit([=](size_t i) { return double(BitsAt<uint8_t>(source, i, false)); });
    }
}

} // namespace

template <class Element>
size_t ConvertNpyElements(const NpyHeader& header, const std::byte* source, size_t count, Element* target)
{
    VisitNpyElements(header, source,
                     [&](const auto& valueAt)
                     {
                         for (size_t i = 0; i < count; ++i)
                             target[i] = Element(valueAt(i));
                     });
    return size_t(std::find_if(target, target + count, [](Element value) { return !std::isfinite(value); }) - target);
}

template size_t ConvertNpyElements(const NpyHeader&, const std::byte*, size_t, float*);
template size_t ConvertNpyElements(const NpyHeader&, const std::byte*, size_t, double*);

double NpyElement(const NpyHeader& header, const std::byte* source, size_t index)
{
    double value = 0;
    VisitNpyElements(header, source, [&](const auto& valueAt) { value = double(valueAt(index)); });
    return value;
}

} // namespace cntk
