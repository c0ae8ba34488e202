// Compiles the headers that all tests include (CMakeLists.txt).
int main()
{
    return 0;
}
