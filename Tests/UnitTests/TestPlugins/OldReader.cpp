// A plugin that was built for another version of the interface.
#include "Common/ReaderInterface.h"

extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
{
    return 4711;
}
