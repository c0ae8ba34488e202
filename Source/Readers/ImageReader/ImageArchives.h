// Images inside zip archives: "photos.zip@/cats/1.jpg" is the file cats/1.jpg of photos.zip.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class ImageArchives
{
public:
    ImageArchives();
    ~ImageArchives();

    static bool IsInArchive(const std::string& path);
    // Returns the archive of the path, or the path itself if it is in none.
    static std::string FileOf(const std::string& path);

    // Returns the bytes of the file. Thread-safe. Fails (Data) if the archive or the file is missing or damaged, and
    // (Device) if the program was built without libzip.
    std::vector<char> Read(const std::string& path);

private:
    class Handles;
    std::unique_ptr<Handles> m_handles;
};

} // namespace cntk
