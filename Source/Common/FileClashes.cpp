// Paths are compared as the system resolves them.
#include "Common/FileClashes.h"

#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <system_error>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

struct ReaderNames
{
    const char* ofData;
    const char* ofValidation;
};
constexpr ReaderNames c_readers[] = {{"reader", "cvReader"},
                                     {"encoderReader", "encoderCVReader"},
                                     {"decoderReader", "decoderCVReader"},
                                     {"backwardDecoderReader", "BackwardDecoderCVReader"}};
constexpr const char* c_models[] = {"modelPath", "encoderModelPath", "decoderModelPath"};

bool IsOrdinaryFile(const std::string& path)
{
    std::error_code error;
    return fs::is_regular_file(path, error) && !error;
}

} // namespace

std::string CanonicalPath(const std::string& path)
{
    const std::string resolved = ResolveOutputPath(path);
    std::error_code error;
    const fs::path absolute = fs::absolute(resolved, error);
    const fs::path canonical = error ? fs::path() : fs::weakly_canonical(absolute, error);
    return error ? resolved : canonical.string();
}

bool IsSameFile(const std::string& path, const std::string& other)
{
    const std::string resolved = ResolveOutputPath(path);
    std::error_code error;
    if (path.empty() || path == "-" || (fs::exists(resolved, error) && !IsOrdinaryFile(resolved)))
        return false; // standard output, a device: nothing is lost
    return CanonicalPath(resolved) == CanonicalPath(other);
}

std::vector<NamedFile> FilesNamedIn(const ConfigParameters& block)
{
    std::vector<NamedFile> files;
    const auto add = [&files](const ConfigValue& value, std::string_view text)
    {
        std::string path = ResolveInputPath(std::string(text));
        if (!IsOrdinaryFile(path))
            return false;
        files.push_back({value.KeyPath(), std::move(path)});
        return true;
    };
    for (const ConfigValue& value : block.Values())
        if (!add(value, value.Text()) && value.Text().find('+') != std::string::npos)
            for (const std::string_view part : Split(value.Text(), '+')) // editPath=a.mel+b.mel
                add(value, Trim(part));
    return files;
}

std::vector<NamedFile> FilesOfReaders(const ConfigParameters& command, ReaderBlocks which)
{
    std::vector<NamedFile> files;
    const auto add = [&](const char* name)
    {
        if (const ConfigParameters* const reader = command.FindBlock(name))
            for (NamedFile& file : FilesNamedIn(*reader))
                files.push_back(std::move(file));
    };
    for (const ReaderNames& names : c_readers)
    {
        add(names.ofData);
        if (which == ReaderBlocks::OfDataAndValidation)
            add(names.ofValidation);
    }
    return files;
}

void RequireNotRead(const NamedFile& written, const std::vector<NamedFile>& read, const SourcePos& where)
{
    for (const NamedFile& file : read)
        if (IsSameFile(written.path, file.path))
            FailAt(where, ErrorKind::Config, written.key, " would overwrite '", written.path, "', which is ", file.key,
                   " as well; expected another file");
}

void RequireNotReadByOthers(const ConfigParameters& writer, const NamedFile& written, const SourcePos& where)
{
    if (writer.Parent() == nullptr)
        return;
    RequireNotRead(written, FilesOfReaders(*writer.Parent(), ReaderBlocks::OfData), where);
    for (const char* name : c_models)
        if (const auto model = writer.Parent()->Exists(name) ? writer.Parent()->Find(name) : std::nullopt)
            RequireNotRead(written, {{name, model->Text()}}, where);
}

std::optional<ListedFiles::FileIdentity> ListedFiles::IdentityOf(const std::string& path)
{
    struct stat status = {};
    if (::stat(ResolveInputPath(path).c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    return FileIdentity(status.st_dev, status.st_ino);
}

std::string ListedFiles::WhyRead(const std::string& path) const
{
    const auto identity = path.empty() || path == "-" ? std::nullopt : IdentityOf(path);
    if (!identity)
        return "";
    if (!m_read)
    {
        m_read.emplace();
        for (const auto& visitAll : m_lists)
            visitAll(
                [this](const std::string& listed, const std::string& what)
                {
                    if (const auto other = IdentityOf(listed))
                        m_read->try_emplace(*other, what);
                });
    }
    const auto found = m_read->find(*identity);
    return found == m_read->end() ? "" : found->second;
}

void ListedFiles::RequireNone(const NamedFile& written, const SourcePos& where) const
{
    if (const std::string why = WhyRead(written.path); !why.empty())
        FailAt(where, ErrorKind::Config, written.key, " would overwrite '", written.path, "', which is ", why,
               "; expected another file");
}

} // namespace cntk
