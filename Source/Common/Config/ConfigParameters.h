// The config language of the book (3.9, 5.1.3): a tree of blocks, arrays and values with source positions, parsed once.
// Names compare without regard to case. A name is looked up in its block, then in the enclosing blocks, to the root. A
// block that is found outside of the block that asks for it looks up what it lacks as if it stood there.
#pragma once

#include "Common/SourceText.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ConfigParameters;
class ConfigArray;
struct ConfigEntry; // one "name=value" with its positions; ConfigParameters.cpp

// A value as the user wrote it, $variables$ resolved, with the place it came from. Cheap to copy.
class ConfigValue
{
public:
    ConfigValue() = default;
    ConfigValue(std::string text, SourcePos where, const ConfigParameters* block, std::string keyPath);

    // Without quotes; braces kept. A block merged from several has them all: "[..] [..]".
    const std::string& Text() const;
    const SourcePos& Where() const { return m_where; }
    const std::string& KeyPath() const { return m_keyPath; } // "Train:SGD:minibatchSize"

    // Each fails with key path, position, the value and the accepted forms (kind Config).
    bool AsBool() const;
    double AsDouble() const;
    int AsInt() const;
    size_t AsSize() const;
    ConfigArray AsArray() const;

    // "'Train:SGD:momentumPerMB' is 'x', expected <expected>", at the value's position (kind Config).
    [[noreturn]] void FailExpected(std::string_view expected) const;

private:
    friend class ConfigParameters;
    friend class ConfigTree;
    // A block's text is put together when asked for: most blocks are read by name only.
    mutable std::string m_text;
    mutable bool m_isPending = false;
    SourcePos m_where;
    const ConfigParameters* m_block = nullptr; // the block that holds the value
    const ConfigEntry* m_entry = nullptr;      // none for elements of arrays
    std::string m_keyPath;
};

// a:b*3:c. An index beyond the end yields the last element (schedules).
class ConfigArray
{
public:
    ConfigArray() = default;
    explicit ConfigArray(std::vector<ConfigValue> elements) : m_elements(std::move(elements)) {}

    size_t size() const { return m_elements.size(); }
    bool empty() const { return m_elements.empty(); }
    const ConfigValue& operator[](size_t index) const; // last element beyond the end; fails if empty
    auto begin() const { return m_elements.begin(); }
    auto end() const { return m_elements.end(); }

private:
    std::vector<ConfigValue> m_elements;
};

// A block. The root block owns the tree; everything else is reached from it. Not copyable.
class ConfigParameters
{
public:
    ~ConfigParameters();
    ConfigParameters(const ConfigParameters&) = delete;
    ConfigParameters& operator=(const ConfigParameters&) = delete;

    // Parses a text as root block. For tests and for scripts; the program uses Config/ConfigFiles.h.
    static std::unique_ptr<ConfigParameters> Parse(std::string text, std::string sourceName = "text");

    const std::string& Name() const; // "SGD"; the root: name of the last config file
    const std::string& Path() const; // "exp.cntk:Train:SGD"
    const ConfigParameters* Parent() const;
    const SourcePos& Where() const;

    // This block, then the enclosing ones; marks the key as read. The literal value "default" counts as absent.
    std::optional<ConfigValue> Find(std::string_view name) const;
    // This very block only.
    std::optional<ConfigValue> FindHere(std::string_view name) const;
    bool Exists(std::string_view name) const; // walks outwards; does not mark as read
    bool ExistsHere(std::string_view name) const;
    // Fails with "required parameter missing", the path, the position of the block and near names.
    ConfigValue Require(std::string_view name) const;
    // Where the value that Find gives was written, for messages; without one the place of this block. Does not mark as
    // read.
    SourcePos WhereOf(std::string_view name) const;
    // The block of that name (walks outwards) or null; a scalar of that name is not a block (book pitfall:
    // parallelTrain). Parent() of the result is this block, wherever the block was written.
    const ConfigParameters* FindBlock(std::string_view name) const;
    // The block of that name in this very block, or null.
    const ConfigParameters* FindBlockHere(std::string_view name) const;
    const ConfigParameters& RequireBlock(std::string_view name) const;

    // Names of the entries of this very block in the order of the text; BlockNames: only those whose value is a block.
    std::vector<std::string> Names() const;
    std::vector<std::string> BlockNames() const;
    // Values of this block and of the blocks inside, without those whose variables have no value. None counts as read.
    std::vector<ConfigValue> Values() const;

    // Adds or replaces a value, as if the user had written it (the write action's randomize=none).
    void Set(std::string_view name, std::string value) const;

    // Entries of this block and the blocks inside that nobody has read so far.
    struct Unread
    {
        std::string path;
        std::string name;
        SourcePos where;
        const ConfigParameters* block;
    };
    std::vector<Unread> UnreadEntries() const;

    // Substitutes $name$ in a text as seen from this block (NDL and MEL scripts; book 3.9.3).
    std::string ResolveVariables(std::string_view text, const SourcePos& where) const;

private:
    ConfigParameters();
    friend class ConfigValue;
    friend class ConfigTree;
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
