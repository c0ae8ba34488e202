// Images and their classes, from a list or from folders.
#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "Readers/ImageReader/ImageReader.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

constexpr const char* c_expectedList = "; expected the image's file, a tab and its class";

bool IsImageFile(const fs::path& path)
{
    constexpr std::string_view endings[] = {".png", ".jpg", ".jpeg", ".bmp",  ".ppm",
                                            ".pgm", ".tif", ".tiff", ".webp", ".pnm"};
    const std::string ending = ToLower(path.extension().string());
    return std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

std::vector<std::string> SortedNames(const std::string& folder, bool (*isWanted)(const fs::directory_entry&))
{
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (isWanted(entry) && !entry.path().filename().string().starts_with('.'))
            names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

// Returns the class of a text: a name of the label map, or without a map a number below labelDim. where: for messages.
int32_t ClassOf(std::string_view text, const ImageClasses& classes, const std::string& where)
{
    if (classes.map)
    {
        const int32_t id = classes.map->Find(text);
        if (id == LabelMap::c_unknown)
            Fail(ErrorKind::Data, where, ": ", classes.map->UnknownLabelMessage(text));
        return id;
    }
    const std::optional<long long> label = ParseInteger(text);
    if (!label || *label < 0)
        Fail(ErrorKind::Data, where, ": the class is '", text,
             "'; expected a whole number from 0; classes by name need labelMappingFile, a file with one name a line");
    if (size_t(*label) >= classes.labelDim)
        Fail(ErrorKind::Data, where, ": class ", *label, " is not below labelDim=", classes.labelDim);
    return int32_t(*label);
}

} // namespace

ImageList ImageList::Read(const std::string& path, ImageClasses& classes)
{
    if (fs::is_directory(path))
        return ReadFolder(path, classes);
    ImageList list;
    list.path = path;
    std::string folder = fs::path(path).parent_path().string();
    if (folder.empty())
        folder = ".";
    LineReader reader(path);
    for (std::string_view line; reader.Next(line);)
    {
        if (Trim(line).empty())
            continue;
        const size_t tab = line.find('\t');
        if (tab != std::string_view::npos && Trim(line.substr(0, tab)).empty())
            Fail(ErrorKind::Data, reader.Location(line), ": there is no file name before the tab", c_expectedList);
        if (tab == std::string_view::npos && !classes.map)
            Fail(ErrorKind::Data, reader.Location(line), ": '", line, "' has no tab between two columns",
                 c_expectedList, ", or labelMappingFile with the names of the images' folders");
        Image image;
        image.path = tab == std::string_view::npos ? Trim(line) : line.substr(0, tab);
        if (image.path.starts_with("..."))
            image.path = folder + image.path.substr(3);
        const std::string ownFolder = fs::path(ResolveOutputPath(image.path)).parent_path().filename().string();
        const bool hasClass = tab != std::string_view::npos;
        const std::string_view rest = hasClass ? line.substr(tab + 1) : std::string_view();
        // Further columns are ignored.
        const std::string_view text = hasClass ? Trim(rest.substr(0, rest.find('\t'))) : std::string_view(ownFolder);
        image.label = ClassOf(text, classes, reader.Location(hasClass ? text : line));
        image.line = reader.LineNumber();
        list.images.push_back(std::move(image));
    }
    if (list.images.empty())
        Fail(ErrorKind::Data, "list of images '", path, "' names no image");
    return list;
}

ImageList ImageList::ReadFolder(const std::string& path, ImageClasses& classes)
{
    const std::vector<std::string> folders =
        SortedNames(path, [](const fs::directory_entry& entry) { return entry.is_directory(); });
    if (!classes.map && !folders.empty())
        classes.map = LabelMap::FromNames(folders, "the sub-folders of '" + path + "'");
    ImageList list;
    list.path = path;
    const auto addImages = [&](const std::string& folder, int32_t label)
    {
        for (const std::string& name :
             SortedNames(folder, [](const fs::directory_entry& entry) { return IsImageFile(entry.path()); }))
            list.images.push_back({(fs::path(folder) / name).string(), label, 0});
    };
    for (const std::string& folder : folders)
    {
        const std::string inner = (fs::path(path) / folder).string();
        addImages(inner, ClassOf(folder, classes, inner));
    }
    if (folders.empty())
        addImages(path, c_withoutClass);
    if (list.images.empty())
        Fail(ErrorKind::Data, "folder '", path, "' has no images; expected one sub-folder of images for each class");
    return list;
}

std::string ImageList::PlaceOf(const Image& image) const
{
    return image.line == 0 ? path : Concat(path, ":", image.line);
}

} // namespace cntk
