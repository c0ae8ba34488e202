// cntk configFile=<file> [name=value ...]
#include "CNTK/Program.h"

int main(int argc, char** argv)
{
    return cntk::RunProgram(std::vector<std::string>(argv, argv + argc));
}
