// A driver that is there, which is all that the program asks of one.
extern "C" int CntkEmulatedDriver();
int CntkEmulatedDriver()
{
    return 0;
}
