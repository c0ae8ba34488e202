// Probabilities, histories and errors of ARPA models.
#include "Decoder/ArpaModel.h"
#include "DecoderTests/DecoderTestTools.h"

#include <cmath>

namespace cntk
{
namespace
{

using testing::HasSubstr;

constexpr const char* c_trigram = "text before the model\n"
                                  "\\data\\\n"
                                  "ngram 1=5\n"
                                  "ngram 2 = 4\n"
                                  "ngram 3=2\n"
                                  "\n"
                                  "\\1-grams:\n"
                                  "-1.0\t</s>\n"
                                  "-99\t<s>\t-0.5\n"
                                  "-0.4\ta\t-0.2\n"
                                  "-0.6\tb\t-0.3\n"
                                  "-0.9\tc\n"
                                  "\n"
                                  "\\2-grams:\n"
                                  "-0.3\t<s> a\t-0.1\n"
                                  "-0.2\ta b\t-0.4\n"
                                  "-0.5\tb a\n"
                                  "-0.7\tb </s>\n"
                                  "\n"
                                  "\\3-grams:\n"
                                  "-0.1 <s> a b\r\n"
                                  "-0.05 a b </s>\n"
                                  "\n"
                                  "\\end\\\n";

class ArpaModelTests : public DecoderTest
{
protected:
    std::unique_ptr<ArpaModel> Model(const std::string& text)
    {
        return std::make_unique<ArpaModel>(Write("lm.arpa", text), "<s>", "</s>");
    }
    // The sum of base-10 logarithms of a sentence after the sentence start.
    double Score(const ArpaModel& model, const std::vector<std::string>& words, uint32_t* history = nullptr)
    {
        uint32_t at = model.StartHistory();
        double sum = 0;
        for (const std::string& word : words)
        {
            const ArpaModel::Step step = model.Extend(at, model.FindWord(word));
            sum += step.logProbability / std::log(10.0);
            at = step.history;
        }
        if (history != nullptr)
            *history = at;
        return sum;
    }
    std::string Changed(const std::string& from, const std::string& to)
    {
        std::string text = c_trigram;
        text.replace(text.find(from), from.size(), to);
        return MessageFor([&] { Model(text); });
    }
};

TEST_F(ArpaModelTests, BacksOff)
{
    const auto model = Model(c_trigram);
    EXPECT_EQ(model->Order(), 3U);
    EXPECT_NEAR(Score(*model, {"a"}), -0.3, 1e-6);
    EXPECT_NEAR(Score(*model, {"a", "b"}), -0.3 - 0.1, 1e-6);             // trigram <s> a b
    EXPECT_NEAR(Score(*model, {"a", "b", "</s>"}), -0.4 - 0.05, 1e-6);    // trigram a b </s>
    EXPECT_NEAR(Score(*model, {"a", "b", "a"}), -0.4 - 0.4 - 0.5, 1e-6);  // bow(a b), bigram b a
    EXPECT_NEAR(Score(*model, {"a", "c"}), -0.3 - 0.1 - 0.2 - 0.9, 1e-6); // bow(<s> a), bow(a)
    EXPECT_NEAR(Score(*model, {"c", "b"}), -0.5 - 0.9 - 0.6, 1e-6);       // c has no back-off weight
    EXPECT_EQ(model->Extend(0, model->FindWord("<s>")).logProbability, ArpaModel::c_impossible);
    EXPECT_EQ(model->FindWord("d"), ArpaModel::c_none);
}

TEST_F(ArpaModelTests, SharesHistoriesThatGiveEqualProbabilities)
{
    const auto model = Model(c_trigram);
    uint32_t afterC = 0;
    uint32_t afterCB = 0;
    uint32_t afterBB = 0;
    uint32_t afterAB = 0;
    Score(*model, {"c"}, &afterC);
    Score(*model, {"c", "b"}, &afterCB);
    Score(*model, {"b", "b"}, &afterBB);
    Score(*model, {"a", "b"}, &afterAB);
    EXPECT_EQ(afterC, 0U); // the empty context
    EXPECT_EQ(afterCB, afterBB);
    EXPECT_NE(afterAB, afterBB);
}

TEST_F(ArpaModelTests, AcceptsNGramsWhoseBeginningIsNotListed)
{
    std::string text = c_trigram;
    text.replace(text.find("-0.2\ta b\t-0.4\n"), 14, "");
    text.replace(text.find("ngram 2 = 4"), 11, "ngram 2 = 3");
    const auto model = Model(text);
    EXPECT_NEAR(Score(*model, {"a", "b", "</s>"}), -0.3 - 0.1 - 0.05, 1e-6);
    EXPECT_NEAR(Score(*model, {"b", "a", "b"}), -0.5 - 0.6 - 0.5 - 0.2 - 0.6, 1e-6);
}

TEST_F(ArpaModelTests, TellsTheLineOfMistakes)
{
    EXPECT_EQ(Changed("ngram 2 = 4", "ngram 2 = 5"),
              "data: lm.arpa:20: the section before this line has 4 2-grams, but \\data\\ says 5");
    EXPECT_THAT(Changed("\\3-grams:", "\\4-grams:"), HasSubstr("lm.arpa:20: a section of 4-grams, but"));
    EXPECT_EQ(Changed("\\end\\\n", ""),
              "data: lm.arpa:23: the file ends here, expected \\end\\, the last line of a model in ARPA format");
    EXPECT_THAT(Changed("-99\t<s>\t-0.5\n", "-99\tx\n"), HasSubstr("the word '<s>' is not among the 1-grams"));
    EXPECT_THAT(Changed("-0.9\tc", "x\tc"), HasSubstr("lm.arpa:12: 'x' is no number"));
    EXPECT_THAT(Changed("-0.9\tc", "0.9\tc"), HasSubstr("lm.arpa:12: '0.9' is above 0"));
    EXPECT_THAT(Changed("-0.9\tc", "-0.9\ta"), HasSubstr("lm.arpa:12: the word 'a' is listed twice"));
    EXPECT_THAT(Changed("-0.5\tb a\n", "-0.5\tb d\n"), HasSubstr("lm.arpa:17: the word 'd' is not among"));
    EXPECT_THAT(Changed("-0.5\tb a\n", "-0.5\ta b\n"), HasSubstr("lm.arpa:17: '-0.5\ta b' is listed twice"));
    EXPECT_THAT(Changed("-0.5\tb a\n", "-0.5\n"), HasSubstr("has 1 fields, expected a logarithm, 2 words"));
    EXPECT_THAT(MessageFor([&] { Model("no model\n"); }), HasSubstr("expected \\data\\"));
    EXPECT_THAT(MessageFor([&] { Model(std::string("\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n\\end\\\n")); }),
                HasSubstr("lm.arpa:3: the 1-grams lack '<s>'"));
    EXPECT_THAT(MessageFor([&] { ArpaModel(Path("none"), "<s>", "</s>"); }),
                HasSubstr("language model 'none' does not exist"));
}

} // namespace
} // namespace cntk
