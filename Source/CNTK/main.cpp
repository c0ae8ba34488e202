// cntk configFile=<file> [name=value ...]
#include "CNTK/Program.h"
#include "Math/Cpu/GemmEngines.h"

int main(int argc, char** argv)
{
    cntk::PrepareEngines();
    return cntk::RunProgram(std::vector<std::string>(argv, argv + argc));
}
