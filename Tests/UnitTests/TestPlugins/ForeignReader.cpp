// A library that is no plugin, in the place of one.
extern "C" __attribute__((visibility("default"))) int ForeignFunction()
{
    return 1;
}
