// An empty library: the program only checks that a driver can be opened.
extern "C" int CntkEmulatedDriver();
int CntkEmulatedDriver()
{
    return 0;
}
