// The marks of files that go when a signal ends the program (Interruption.h), as plugins share them. A plugin has all
// of that code once more for itself, but its signal handler is never called: it is given the program's marks to use.
#pragma once

namespace cntk
{

struct TemporaryFiles;

TemporaryFiles& TemporaryFilesInUse();
// Before the first file is written. PluginExports.h exports it from every plugin as ShareTemporaryFiles.
void UseTemporaryFiles(TemporaryFiles& files);

using ShareTemporaryFilesFunction = void (*)(TemporaryFiles& files);

} // namespace cntk
