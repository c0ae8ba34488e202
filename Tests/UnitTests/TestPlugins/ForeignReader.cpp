// A library that is no plugin at all, in the place where one is expected.
extern "C" __attribute__((visibility("default"))) int ForeignFunction()
{
    return 1;
}
