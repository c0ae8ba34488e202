// Images inside of zip archives: "photos.zip@/cats/1.jpg" is the file cats/1.jpg of photos.zip.
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
    // The archive, or the file that is in none.
    static std::string FileOf(const std::string& path);

    // The bytes of the file. Threads may call it at once. Fails (Data) if there is no such archive or file or if it is
    // damaged, and (Device) if the program was built without libzip.
    std::vector<char> Read(const std::string& path);

private:
    class Handles;
    std::unique_ptr<Handles> m_handles;
};

} // namespace cntk
