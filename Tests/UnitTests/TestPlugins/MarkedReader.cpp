// A third-party reader with its own key for its data file: it marks the option as an input file and exports the
// function that lists input files.
#include "Common/PluginExports.h"
#include "Readers/ReaderLib/ReaderOptions.h"

namespace
{

struct MarkedOptions
{
    std::string corpus;
    std::string notes;

    static cntk::OptionTable<MarkedOptions> Options()
    {
        using S = MarkedOptions;
        return {cntk::Opt("corpus", &S::corpus, "Required. The data").Required().InputFile(),
                cntk::Opt("notes", &S::notes, "Made where it is missing")};
    }
};

} // namespace

extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
{
    return cntk::c_pluginAbi;
}

CNTK_EXPORT_INPUT_FILES(cntk::AddInputFiles<MarkedOptions>)
