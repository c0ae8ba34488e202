// The exception type of the program: a message, a position in the user's text, and notes that callers add at four
// boundaries (command, file, node, minibatch).
#pragma once

#include "Common/SourceText.h"
#include "Common/Text.h"

#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// The kind selects the exit code of the program (Documentation/ExitCodes.md).
enum class ErrorKind
{
    Usage,   // the command line
    Config,  // a config file, NDL or MEL script
    Data,    // a data file or label map
    Model,   // a model file or the structure of a network
    Device,  // GPU, memory, disk: the machine
    Internal // a bug of this program
};

// 0 is success; the codes are Usage 2, Config 3, Data 4, Model 5, Device 6, Internal 70.
int ExitCodeOf(ErrorKind kind);
const char* NameOf(ErrorKind kind);

class Error : public std::runtime_error
{
public:
    Error(ErrorKind kind, std::string message, SourcePos where = {});

    ErrorKind Kind() const { return m_kind; }
    const SourcePos& Where() const { return m_where; }
    // The message without position and notes, same as what().
    const std::string& Message() const { return m_message; }
    const std::vector<std::string>& Notes() const { return m_notes; }

    // Adds "note: ..." to the report. The innermost note comes first.
    void AddNote(std::string note) { m_notes.push_back(std::move(note)); }

    // Returns an error with the same notes and another message or position.
    Error Retold(ErrorKind kind, std::string message, SourcePos where) const;
    Error At(SourcePos where) const { return Retold(m_kind, m_message, std::move(where)); }

    // Returns the lines that the user sees, without a newline at the end: notes, then the excerpt, then the message:
    //   "exp.cntk:14:9: error: unknown option 'minbatchSize' ..." (or "error: ..." without a position).
    std::string Report() const;

private:
    ErrorKind m_kind;
    std::string m_message;
    SourcePos m_where;
    std::vector<std::string> m_notes;
};

// The error of an allocation that failed.
class OutOfMemory : public Error
{
public:
    explicit OutOfMemory(std::string message, size_t freeBytes = 0)
        : Error(ErrorKind::Device, std::move(message)), m_freeBytes(freeBytes)
    {
    }

    size_t FreeBytes() const { return m_freeBytes; } // of a device, at the time of the request

private:
    size_t m_freeBytes;
};

[[noreturn]] void FailWith(ErrorKind kind, std::initializer_list<MessagePart> parts, const SourcePos& where = {});

// Fail(ErrorKind::Model, "node '", name, "': ", why)
template <class... Parts>
[[noreturn]] void Fail(ErrorKind kind, const Parts&... parts)
{
    FailWith(kind, {MessagePart(parts)...});
}

template <class... Parts>
[[noreturn]] void FailAt(const SourcePos& where, ErrorKind kind, const Parts&... parts)
{
    FailWith(kind, {MessagePart(parts)...}, where);
}

// Runs body; an Error passing through gets note() added. A bad_alloc becomes an OutOfMemory.
template <class Body, class Note>
auto WithNote(Body&& body, Note&& note) -> decltype(body())
{
    try
    {
        return body();
    }
    catch (Error& error)
    {
        error.AddNote(note());
        throw;
    }
    catch (const std::bad_alloc&)
    {
        OutOfMemory error("out of memory");
        error.AddNote(note());
        throw error;
    }
}

// Bugs only, never user input. Active in debug builds.
#ifdef NDEBUG
#define CNTK_ASSERT(condition) ((void)0)
#else
[[noreturn]] void AssertionFailed(const char* condition, const char* file, int line);
#define CNTK_ASSERT(condition) ((condition) ? (void)0 : ::cntk::AssertionFailed(#condition, __FILE__, __LINE__))
#endif

} // namespace cntk
