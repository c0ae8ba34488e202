// Tells a table from a text and a folder.
#include "ActionsLib/NewConfig/NewConfig.h"

#include "ActionsLib/NewConfig/NewFiles.h"
#include "ActionsLib/NewConfig/NewImages.h"
#include "ActionsLib/NewConfig/NewTable.h"
#include "ActionsLib/NewConfig/NewText.h"
#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <filesystem>

namespace cntk
{

namespace
{

// "iris.cntk" for "data/iris.csv" and "data/iris/"; in the working folder.
std::string DefaultConfig(const std::string& data)
{
    std::filesystem::path path(data);
    if (path.filename().empty())
        path = path.parent_path();
    const bool isFolder = std::filesystem::is_directory(path);
    std::string name =
        (isFolder ? path.filename() : std::filesystem::path(WithoutGzipEnding(path.string())).stem()).string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !IsNameChar(c) && c != '-' && c != '.'; }, '_');
    return (name.empty() || name == "." || name == ".." ? "new" : name) + ".cntk";
}

// Returns the text without a byte order mark. Fails (Data) if the file is no text.
std::string ReadData(const std::string& path)
{
    const DataFile file(path);
    const size_t begin = BeginOfText(file, ZeroBytes::Refused);
    std::string text(file.Size() - begin, '\0');
    file.Read(begin, text.data(), text.size());
    return text;
}

} // namespace

std::string WriteNewConfig(const NewConfigRequest& asked)
{
    NewConfigRequest request = asked;
    if (!FileExists(request.data))
        Fail(ErrorKind::Usage, "--new: '", request.data, "' does not exist", NearFilesHint(request.data),
             "; expected a table, a text, or a folder with one sub-folder of images a class");
    if (request.config.empty())
        request.config = DefaultConfig(request.data);
    const bool isFolder = std::filesystem::is_directory(request.data);
    const std::string text = isFolder ? std::string() : ReadData(request.data);
    const std::string ending = ToLower(std::filesystem::path(WithoutGzipEnding(request.data)).extension().string());
    if (const size_t first = text.find_first_not_of(" \t\r\n"); first != std::string::npos && text[first] == '|')
        Fail(ErrorKind::Usage, "--new: '", request.data,
             "' seems to be in the format of CNTKTextFormatReader (|name numbers), for which --new writes no config; "
             "cntk --help CNTKTextFormatReader has its parameters");
    const bool isTable = !isFolder && (ending == ".csv" || ending == ".tsv" || NewTable::IsTable(text));
    if (!request.label.empty() && !isTable)
        Fail(ErrorKind::Usage, "label=", request.label, " chooses a column of a table, but '", request.data, "' is ",
             isFolder ? "a folder" : "no table");
    if (isFolder)
        return WriteImageConfig(request);
    if (Trim(text).empty())
        Fail(ErrorKind::Data, "data file '", request.data, "' is empty");
    return isTable ? WriteTableConfig(request, text) : WriteTextConfig(request, text);
}

} // namespace cntk
