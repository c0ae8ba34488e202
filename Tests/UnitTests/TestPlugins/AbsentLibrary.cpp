// The library that LonelyReader needs, in a folder that the loader does not search.
extern "C" __attribute__((visibility("default"))) unsigned CntkTestAbsentFunction()
{
    return 1;
}
