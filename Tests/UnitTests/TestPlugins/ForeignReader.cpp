// A library that is no plugin, although it has the name of one.
extern "C" __attribute__((visibility("default"))) int ForeignFunction()
{
    return 1;
}
