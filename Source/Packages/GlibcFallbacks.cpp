// Functions of newer versions of glibc that the C++ library of the build system calls, for the archive that runs with
// glibc 2.34. LowerGlibcVersion removes their versions from the bundled libraries, so that they find these functions.
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/random.h>

namespace
{

struct SegmentSearch
{
    uintptr_t address = 0;
    dl_find_object* result = nullptr;
};

// Returns 1, which ends the search, if the address lies in a segment of the object and the object has unwind tables.
int FindInObject(dl_phdr_info* object, size_t, void* data)
{
    const auto& search = *static_cast<const SegmentSearch*>(data);
    dl_find_object found = {};
    bool isHere = false;
    for (int i = 0; i < object->dlpi_phnum; i++)
    {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        if (segment.p_type == PT_GNU_EH_FRAME)
            found.dlfo_eh_frame = reinterpret_cast<void*>(begin);
        if (segment.p_type != PT_LOAD || search.address < begin || search.address >= end)
            continue;
        isHere = true;
        found.dlfo_map_start = reinterpret_cast<void*>(begin);
        found.dlfo_map_end = reinterpret_cast<void*>(end);
    }
    if (!isHere || found.dlfo_eh_frame == nullptr)
        return 0;
    *search.result = found;
    return 1;
}

} // namespace

extern "C"
{

    // Finds the unwind tables of a code address, for exceptions. glibc has the function since 2.35.
    int _dl_find_object(void* address, dl_find_object* result)
    {
        SegmentSearch search{reinterpret_cast<uintptr_t>(address), result};
        return dl_iterate_phdr(FindInObject, &search) == 1 ? 0 : -1;
    }

    // Returns a random number of the system, for std::random_device. glibc has the function since 2.36.
    uint32_t arc4random()
    {
        uint32_t number = 0;
        while (getrandom(&number, sizeof number, 0) != ssize_t(sizeof number))
        {
        }
        return number;
    }
}
