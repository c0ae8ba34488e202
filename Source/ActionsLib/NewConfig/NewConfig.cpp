// Tells a table from a text and a folder.
#include "ActionsLib/NewConfig/NewConfig.h"

#include "ActionsLib/NewConfig/NewImages.h"
#include "ActionsLib/NewConfig/NewTable.h"
#include "ActionsLib/NewConfig/NewText.h"
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
    std::string name = (isFolder ? path.filename() : path.stem()).string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !IsNameChar(c) && c != '-' && c != '.'; }, '_');
    return (name.empty() || name == "." || name == ".." ? "new" : name) + ".cntk";
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
    const std::string text = isFolder ? std::string() : ReadTextFile(request.data);
    const std::string ending = ToLower(std::filesystem::path(request.data).extension().string());
    if (!isFolder)
        RequirePlainText(text, "data file '" + request.data + "'");
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
