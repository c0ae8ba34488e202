// What scripts may write over, and what is told of it.
#include "ActionsLibTests/Mel/MelFixture.h"
#include "Common/File.h"

#include <gmock/gmock.h>

namespace cntk
{
namespace
{

using testing::HasSubstr;
using testing::Not;

class MelFileTests : public MelTests
{
protected:
    MelFileTests() { std::filesystem::copy_file("base.dnn", "other.dnn"); }
    // A script that loads other.dnn as m2 in its line 2.
    std::string OverOther(const std::string& script) { return ErrorOf("m2=LoadModel(other.dnn)\n" + script); }
    std::string LogText() const { return ReadTextFile("log.txt"); }
};

TEST_F(MelFileTests, FilesThatAScriptWroteAreNotLostToIt)
{
    EXPECT_EQ(ErrorOf("SaveModel(m1, out.dnn)\nDump(m1, ./out.dnn)"),
              "edit.mel:3:10: the dump would overwrite './out.dnn', which is the model saved at edit.mel:2:15 as well; "
              "expected another file");
    EXPECT_NO_THROW(Run("m=LoadModel(out.dnn)")); // still a model
    EXPECT_EQ(ErrorOf("SaveDefaultModel(out.dnn)\nDumpNode(L1.*, out.dnn)"),
              "edit.mel:3:16: the dump would overwrite 'out.dnn', which is the model saved at edit.mel:2:18 as well; "
              "expected another file");
    EXPECT_EQ(ErrorOf("Dump(m1, d.txt)\nSaveModel(m1, d.txt)"),
              "edit.mel:3:15: the model would overwrite 'd.txt', which is the dump of edit.mel:2:10 as well; expected "
              "another file");
    m_folder.Write("b.txt", "1\n2\n3\n4\n");
    EXPECT_EQ(ErrorOf("ReviseParameter(L1.BFF.B, b.txt)\nSaveModel(m1, b.txt)"),
              "edit.mel:3:15: the model would overwrite 'b.txt', which is the parameter file of edit.mel:2:27 as well; "
              "expected another file");
    // Later states of a model, and later dumps, may take the place of earlier ones.
    EXPECT_EQ(ErrorOf("SaveModel(m1, out.dnn)\nSaveModel(m1, out.dnn)\nDump(m1, d.txt)\nDump(m1, d.txt)"), "no error");
    // Checking finds it, too.
    EXPECT_THROW(Run("m1=LoadModel(base.dnn)\nSaveModel(m1, new.dnn)\nDump(m1, new.dnn)", MelEditor::Mode::Check),
                 Error);
}

// A file that another model was loaded from: what is still used must not be lost, what is not is told of.
TEST_F(MelFileTests, TheFileOfAnotherModel)
{
    const std::string before = ReadTextFile("other.dnn");
    const std::string message = "edit.mel:3:15: model 'm1' would replace './other.dnn', the file that model 'm2' was "
                                "loaded from (edit.mel:2:14), which is used again (edit.mel:";
    const std::string advice = "); expected another file, or UnloadModel(m2) in front of it where that model is not "
                               "needed any more";
    const std::string save = "SaveModel(m1, ./other.dnn)\n";
    EXPECT_EQ(OverOther(save + "Copy(m2.L1.*, L9.*)"), message + "4:6" + advice);
    EXPECT_EQ(OverOther(save + "\nSaveModel(m2, third.dnn)"), message + "5:11" + advice);
    EXPECT_EQ(OverOther(save + "m3=CreateModel()\nCopy(L1.*, M2*)"), message + "5:12" + advice);
    EXPECT_EQ(OverOther(save + "SetDefaultModel(m2)"), message + "4:17" + advice);
    // The default model is used without its name.
    for (const char* use : {"SaveDefaultModel(x.dnn)", "SaveModel(x.dnn)", "L1.RL.x=Sigmoid(L1.RL)", "Delete(L1.RL)"})
        EXPECT_THAT(OverOther("SetDefaultModel(m2)\nSaveModel(m1, other.dnn)\n" + std::string(use)),
                    HasSubstr("which is used again (edit.mel:5:"))
            << use;
    EXPECT_EQ(ReadTextFile("other.dnn"), before);
    EXPECT_THAT(LogText(), Not(HasSubstr("replaces")));

    EXPECT_EQ(OverOther("Copy(m2.L1.RL, L2.RL, copy=value)\nRename(Err, Error)\n" + save +
                        "Rename(L1.RL, m1.L0)\nm2=CreateModel()\n"
                        "Copy(m1.L1.*, m2.L1.*)"),
              "no error");
    EXPECT_THAT(LogText(), HasSubstr("WARNING: edit.mel:5:15: model 'm1' replaces './other.dnn', the file that model "
                                     "'m2' was loaded from (edit.mel:2:14)\n"));
    EXPECT_TRUE(ReadTextFile("other.dnn") != before);
}

TEST_F(MelFileTests, WhatIsReplacedWithoutAWord)
{
    // In place; by one of two that are from the same file; once the other one is not there any more; a model that is
    // loaded from what was saved.
    EXPECT_EQ(OverOther("SaveModel(m2, other.dnn)\nSaveModel(m2, other.dnn)\nSaveModel(m1, base.dnn)"), "no error");
    EXPECT_EQ(OverOther("m3=LoadModel(base.dnn)\nSaveModel(m1, base.dnn)\nSaveModel(m3, c.dnn)"), "no error");
    EXPECT_EQ(OverOther("UnloadModel(m2)\nSaveModel(m1, other.dnn)"), "no error");
    EXPECT_EQ(OverOther("SaveModel(m1, c.dnn)\nm3=LoadModel(c.dnn)\nSaveModel(m3, c.dnn)\nCopy(m1.L1.RL, m3.x)"),
              "no error");
    EXPECT_THAT(LogText(), Not(HasSubstr("replaces")));
}

TEST_F(MelFileTests, TheFileThatAnotherModelWasSavedTo)
{
    EXPECT_EQ(OverOther("SaveModel(m1, c.dnn)\nSaveModel(m2, c.dnn)\nSaveModel(m1, d.dnn)"), "no error");
    EXPECT_THAT(LogText(),
                HasSubstr("WARNING: edit.mel:4:15: model 'm2' replaces 'c.dnn', the file that model 'm1' was "
                          "saved to (edit.mel:3:15)\n"));
    // A check says the same.
    Run("m1=LoadModel(base.dnn)\nm2=LoadModel(other.dnn)\nSaveModel(m2, base.dnn)", MelEditor::Mode::Check);
    EXPECT_THAT(LogText(), HasSubstr("WARNING: edit.mel:3:15: model 'm2' replaces 'base.dnn', the file that model 'm1' "
                                     "was loaded from (edit.mel:1:14)\n"));
}

} // namespace
} // namespace cntk
