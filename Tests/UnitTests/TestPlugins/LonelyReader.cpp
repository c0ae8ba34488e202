// A plugin whose own library is missing at run time.
#include "Common/ReaderInterface.h"

extern "C" unsigned CntkTestAbsentFunction();

extern "C" CNTK_PLUGIN_EXPORT uint32_t CntkPluginAbi()
{
    return CntkTestAbsentFunction();
}
