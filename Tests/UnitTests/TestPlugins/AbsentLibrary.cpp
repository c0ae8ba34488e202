// What LonelyReader needs; it lies where the loader does not look.
extern "C" __attribute__((visibility("default"))) unsigned CntkTestAbsentFunction()
{
    return 1;
}
