#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/HtkWriter.h"

#include <filesystem>
#include <limits>

namespace cntk
{
namespace
{

class HtkWriterTests : public HtkTest
{
protected:
    template <class ElemType = float>
    std::unique_ptr<IDataWriter<ElemType>> MakeWriter(const std::string& parameters)
    {
        m_config = ConfigParameters::Parse(OnLines(" " + parameters));
        return MakeHtkWriter<ElemType>({*m_config, m_log, 0, true});
    }
    template <class ElemType>
    static StreamBatch<ElemType> Batch(size_t rows, std::vector<ElemType> values)
    {
        StreamBatch<ElemType> batch;
        batch.rows = rows;
        batch.columns = values.size() / rows;
        batch.values = std::move(values);
        return batch;
    }
    std::string Cut(std::string message) const
    {
        for (size_t at; (at = message.find(m_folder + "/")) != std::string::npos;)
            message.erase(at, m_folder.size() + 1);
        return message;
    }
};

TEST_F(HtkWriterTests, OneFileAMinibatch)
{
    Write("out.scp", Path("new/a.y") + "\r\n" + Path("new/b.y") + "\n\n");
    auto writer = MakeWriter<double>("outputNodeNames=y y=[dim=2 scpFile=" + Path("out.scp") + " type=Real]");
    EXPECT_EQ(writer->OutputNames(), std::vector<std::string>{"y"});
    writer->SaveMinibatch({{"Y", Batch<double>(2, {1, 1.5, 2, 2.5})}}, {"u0"});
    writer->SaveMinibatch({{"Y", Batch<double>(2, {3, std::numeric_limits<double>::infinity()})}}, {"u1"});
    EXPECT_EQ(ReadTextFile(Path("new/a.y")), HtkFileBytes(2, 1));
    HtkFile second(Path("new/b.y"));
    EXPECT_EQ(second.Kind().code, 9);
    EXPECT_EQ(second.Kind().period, 100000u);
    EXPECT_NE(LogText().find("chunkeval: 1 NaNs or INF detected"), std::string::npos);
    EXPECT_EQ(Cut(MessageOf(
                  [&] {
                      writer->SaveMinibatch({{"y", Batch<double>(2, {1, 2})}}, {"u2"});
                  })),
              "data: output script file 'out.scp' has 2 entries, but there are more utterances; the first without a "
              "name is 'u2'");
    writer->Finish();
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(Path("new")))
        ++files;
    EXPECT_EQ(files, 2u); // no temporary ones are left
}

TEST_F(HtkWriterTests, Errors)
{
    Write("out.scp", "a\n\nb\n");
    EXPECT_EQ(Cut(MessageOf([&] { MakeWriter("outputNodeNames=y y=[dim=2 scpFile=" + Path("out.scp") + "]"); })),
              "data: out.scp:2: the line is blank, expected the name of an output file");
    Write("out.scp", Path("a") + "\n");
    Write("two.scp", Path("a") + "\n" + Path("b") + "\n");
    EXPECT_EQ(Cut(MessageOf(
                  [&]
                  {
                      MakeWriter("outputNodeNames=y:z y=[dim=2 scpFile=" + Path("out.scp") +
                                 "] z=[dim=2 scpFile=" + Path("two.scp") + "]");
                  })),
              "data: output script file 'two.scp' of 'z' has 2 entries, but 'out.scp' of 'y' has 1");
    EXPECT_EQ(MessageOf([&] { MakeWriter("outputNodeNames=y y=[dim=2]"); }),
              "config: the writer's block 'y' needs scpFile, a file with the name of one output file a line");
    auto writer = MakeWriter("outputNodeNames=y y=[dim=2 scpFile=" + Path("out.scp") + "]");
    EXPECT_EQ(MessageOf(
                  [&] {
                      writer->SaveMinibatch({{"x", Batch<float>(2, {1, 2})}}, {});
                  }),
              "config: the writer has a block for 'y', but that node is not written; add it to the outputNodeNames of "
              "the command");
    EXPECT_EQ(MessageOf(
                  [&] {
                      writer->SaveMinibatch({{"y", Batch<float>(3, {1, 2, 3})}}, {});
                  }),
              "config: node 'y' has 3 elements, but its block in the writer says dim=2");
    writer->RequireFit({{"Y", 2}, {"other", 3}}, 1);
    writer->RequireFit({}, 0);
    EXPECT_EQ(MessageOf(
                  [&] {
                      writer->RequireFit({{"Y", 3}}, 0);
                  }),
              "config: node 'y' has 3 elements, but its block in the writer says dim=2");
    EXPECT_EQ(Cut(MessageOf(
                  [&] {
                      writer->RequireFit({{"y", 2}}, 2);
                  })),
              "data: output script file 'out.scp' has 1 entry, but there are 2 utterances; expected a file for each");
    Write("out.scp", Path("two.scp") + "/y\n"); // a file where a folder is needed
    writer = MakeWriter("outputNodeNames=y y=[dim=2 scpFile=" + Path("out.scp") + "]");
    EXPECT_THAT(Cut(MessageOf(
                    [&] {
                        writer->SaveMinibatch({{"y", Batch<float>(2, {1, 2})}}, {"u7"});
                    })),
                testing::StartsWith("device: out.scp:1: utterance 'u7': cannot create folder 'two.scp' for file"));
}

TEST_F(HtkWriterTests, InputsAreNotOverwritten)
{
    Write("out.scp", Path("a") + "\n" + Path("b") + "\n" + Path("a") + "\n");
    EXPECT_EQ(Cut(MessageOf([&] { MakeWriter("outputNodeNames=y y=[dim=2 scpFile=" + Path("out.scp") + "]"); })),
              "data: out.scp:3: file 'a' is the output of out.scp:1 already");
    Write("out.scp", Path("a") + "\n" + Path("b") + "\n");
    Write("two.scp", Path("c") + "\n" + Path("b") + "\n");
    EXPECT_EQ(Cut(MessageOf(
                  [&]
                  {
                      MakeWriter("outputNodeNames=y:z y=[dim=2 scpFile=" + Path("out.scp") +
                                 "] z=[dim=2 scpFile=" + Path("two.scp") + "]");
                  })),
              "data: two.scp:2: file 'b' is the output of out.scp:2 already");
    Write("two.scp", Path("c") + "\n" + m_folder + "/new/..//b\n"); // the same file
    EXPECT_EQ(Cut(MessageOf(
                  [&]
                  {
                      MakeWriter("outputNodeNames=y:z y=[dim=2 scpFile=" + Path("out.scp") +
                                 "] z=[dim=2 scpFile=" + Path("two.scp") + "]");
                  })),
              "data: two.scp:2: file 'new/..//b' is the output of out.scp:2 already");
}

TEST_F(HtkWriterTests, InputsOfTheCommandAreNoOutputs)
{
    Write("m.dnn", "a model");
    Write("in.scp", Path("feature") + "\n");
    for (const char* taken : {"m.dnn", "in.scp", "out.scp"})
    {
        Write("out.scp", Path("a") + "\n" + Path(taken) + "\n");
        m_config = ConfigParameters::Parse(
            "w=[\nmodelPath=" + Path("m.dnn") + "\nreader=[\nf=[\nscpFile=" + Path("in.scp") +
            "\n]\n]\nwriter=[\noutputNodeNames=y\ny=[\ndim=2\nscpFile=" + Path("out.scp") + "\n]\n]\n]");
        const std::string message = Cut(MessageOf(
            [&] {
                MakeHtkWriter<float>({m_config->RequireBlock("w").RequireBlock("writer"), m_log, 0, true});
            }));
        EXPECT_THAT(message, testing::StartsWith(std::string("config: out.scp:2: the output would overwrite '") +
                                                 taken + "', which is w:"));
    }
}

} // namespace
} // namespace cntk
