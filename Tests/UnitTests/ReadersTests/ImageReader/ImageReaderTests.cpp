// ImageReader: order of pixels and elements, crops, views, means, order of images; messages about bad files.
#include "Readers/ImageReader/ImageReader.h"
#include "ReadersTests/SequenceTestTools.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;

class ImageReaderTests : public ReaderTest
{
protected:
    // Writes a picture whose pixel (x, y) has red 10 x + y, green 100 + x, blue 200 + y.
    std::string Picture(const std::string& name, size_t width, size_t height)
    {
        std::string text = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x)
                for (const size_t value : {10 * x + y, 100 + x, 200 + y})
                    text += char(value);
        return Write(name, text);
    }
    // Writes a picture of one colour.
    std::string Plain(const std::string& name, size_t width, size_t height, size_t value)
    {
        return Write(name, "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
                               std::string(width * height, char(value)));
    }
    template <class ElemType = float>
    std::unique_ptr<IDataReader<ElemType>> Open(const std::string& features, const std::string& reader = "",
                                                const std::string& labels = "labelDim=3")
    {
        m_config = ConfigParameters::Parse(OnLines("reader=[ file=" + Path("map.txt") + " " + reader + "\nf=[ " +
                                                   features + "\n]\nl=[ " + labels + "\n]\n]"),
                                           "test.cntk");
        return MakeImageReader<ElemType>({m_config->RequireBlock("reader"), m_log});
    }
    std::string ErrorOf(const std::string& features, const std::string& reader = "",
                        const std::string& labels = "labelDim=3")
    {
        return MessageOf([&] { ReadEpoch(*Open(features, reader, labels), MakeRequest(0, 4)); });
    }
    // Four images of one gray value each: 0, 1, 2, 3, with the classes 0, 1, 2, 0.
    void WriteFourGrays(size_t count = 4)
    {
        std::string list;
        for (size_t i = 0; i < count; ++i)
        {
            const std::string name = Plain("gray" + std::to_string(i) + ".pgm", 3, 2, i);
            list += name + "\t" + std::to_string(i % 3) + "\n";
        }
        Write("map.txt", list);
    }
    static std::vector<double> FirstElements(const std::vector<Sample>& samples)
    {
        std::vector<double> values;
        for (const Sample& sample : samples)
            values.push_back(sample.features.at(0));
        return values;
    }
};

TEST_F(ImageReaderTests, OrdersOfElements)
{
    Write("map.txt", Picture("p.ppm", 2, 2) + "\t1\tmore columns\r\n\n");
    const auto planes = Open("width=2 height=2 channels=3");
    ASSERT_EQ(planes->Streams().size(), 2u);
    EXPECT_EQ(planes->Streams()[0].name, "f");
    EXPECT_EQ(planes->Streams()[0].rows, 12u);
    EXPECT_EQ(planes->Streams()[1].rows, 3u);
    EXPECT_THAT(planes->Streams()[0].shape, ElementsAre(2, 2, 3));
    EXPECT_EQ(planes->Streams()[0].shapeSource,
              "mbFormat=nchw, which goes with imageLayout=CHW, at test.cntk:3:1"); // the block: it is the default
    EXPECT_EQ(planes->TotalSamples(), 1u);
    EXPECT_THAT(ReadStream(*planes, MakeRequest(0, 4), 0),
                ElementsAre("frames 1; 200 200 201 201 100 101 100 101 0 10 1 11")); // blue, green, red
    EXPECT_THAT(ReadStream(*planes, MakeRequest(0, 4), 1), ElementsAre("frames 1; 1:1"));
    const StreamInfo pixels = Open("width=2 height=2 channels=3 mbFormat=legacy")->Streams()[0];
    EXPECT_THAT(pixels.shape, ElementsAre(3, 2, 2));
    EXPECT_THAT(pixels.shapeSource, HasSubstr("mbFormat=nhwc, which goes with imageLayout=HWC, at test.cntk:"));
    for (const char* format : {"nhwc", "legacy"})
        EXPECT_THAT(ReadStream(*Open<double>(std::string("width=2 height=2 channels=3 mbFormat=") + format),
                               MakeRequest(0, 4), 0),
                    ElementsAre("frames 1; 200 100 0 200 101 10 201 100 1 201 101 11"));
}

TEST_F(ImageReaderTests, CutsOutTheMiddleAndScales)
{
    Write("map.txt", Picture("p.ppm", 7, 4) + "\t0\n");
    // A square of 4 from column 1 on; red is 10 x + y.
    const std::vector<double> whole = ReadEpoch(*Open("width=4 height=4 channels=3"), MakeRequest(0, 1)).at(0).features;
    EXPECT_EQ(std::vector<double>(whole.begin() + 32, whole.begin() + 36), (std::vector<double>{10, 20, 30, 40}));
    // A square with half the side: rows 1 and 2, columns 2 and 3.
    const std::vector<double> half =
        ReadEpoch(*Open("width=2 height=2 channels=3 cropRatio=0.5"), MakeRequest(0, 1)).at(0).features;
    EXPECT_EQ(std::vector<double>(half.begin() + 8, half.end()), (std::vector<double>{21, 31, 22, 32}));
    // Scaled by a half: a pixel is the mean of four.
    const std::vector<double> scaled =
        ReadEpoch(*Open("width=2 height=2 channels=3"), MakeRequest(0, 1)).at(0).features;
    EXPECT_EQ(std::vector<double>(scaled.begin() + 8, scaled.end()), (std::vector<double>{15.5, 35.5, 17.5, 37.5}));
    const std::vector<double> nearest =
        ReadEpoch(*Open("width=2 height=2 channels=3 interpolations=nearest"), MakeRequest(0, 1)).at(0).features;
    EXPECT_EQ(std::vector<double>(nearest.begin() + 8, nearest.end()), (std::vector<double>{10, 30, 12, 32}));
}

TEST_F(ImageReaderTests, TenViewsOfAnImage)
{
    Write("map.txt", Picture("p.ppm", 5, 3) + "\t2\n");
    const auto reader =
        Open("width=1 height=1 channels=3 cropType=multiview10 cropRatio=0.4", "randomize=none"); // squares of 1
    EXPECT_EQ(reader->TotalSamples(), 10u);
    std::vector<double> red;
    for (const Sample& sample : ReadEpoch(*reader, MakeRequest(0, 4)))
    {
        red.push_back(sample.features.at(2));
        EXPECT_EQ(sample.labels, std::vector<double>{2});
    }
    EXPECT_EQ(red, (std::vector<double>{0, 40, 2, 42, 21, 0, 40, 2, 42, 21}));
    // From the sixth view on the images are flipped.
    const auto wide = Open("width=2 height=2 channels=3 cropType=multiview10 cropRatio=0.7", "randomize=none");
    const std::vector<Sample> views = ReadEpoch(*wide, MakeRequest(0, 10));
    EXPECT_EQ(views.at(0).features.at(8), 0);
    EXPECT_EQ(views.at(0).features.at(9), 10);
    EXPECT_EQ(views.at(5).features.at(8), 10);
    EXPECT_EQ(views.at(5).features.at(9), 0);
}

TEST_F(ImageReaderTests, RandomCropsDoNotDependOnThreads)
{
    std::string list;
    for (int i = 0; i < 40; ++i)
        list += Picture("p.ppm", 7, 5) + "\t0\n";
    Write("map.txt", list);
    const std::string features =
        "width=2 height=2 channels=3 cropType=random cropRatio=0.4:0.8 jitterType=uniratio interpolations=linear:cubic";
    const auto one = Open(features, "numCPUThreads=1 prefetch=false");
    const std::vector<Sample> first = ReadEpoch(*one, MakeRequest(0, 8));
    const std::vector<Sample> second = ReadEpoch(*one, MakeRequest(1, 8));
    EXPECT_EQ(ReadEpoch(*one, MakeRequest(0, 8)), first);
    EXPECT_NE(second, first);
    EXPECT_EQ(ReadEpoch(*Open(features, "numCPUThreads=3"), MakeRequest(1, 5)), second);
    EXPECT_NE(ReadEpoch(*Open(features, "seed=1"), MakeRequest(0, 8)), first);
    std::set<std::vector<double>> different;
    bool isFlipped = false;
    bool isNot = false;
    for (const Sample& sample : first)
    {
        different.insert(sample.features);
        const bool rising = sample.features.at(8) < sample.features.at(9); // red grows to the right
        (rising ? isNot : isFlipped) = true;
        for (size_t i = 8; i < 12; ++i)
            EXPECT_TRUE(sample.features[i] >= -5 && sample.features[i] <= 69); // cubic overshoots
    }
    EXPECT_GT(different.size(), 20u);
    EXPECT_TRUE(isFlipped && isNot);
    // Without flips red always increases to the right.
    for (const Sample& sample : ReadEpoch(*Open(features + " hflip=false"), MakeRequest(0, 8)))
        EXPECT_LT(sample.features.at(8), sample.features.at(9));
}

TEST_F(ImageReaderTests, SubtractsTheMeanImage)
{
    Write("map.txt", Plain("p.pgm", 2, 2, 50) + "\t0\n");
    const auto meanOf = [](const std::string& data, int channels, int rows, int columns)
    {
        return "<?xml version=\"1.0\"?>\n<opencv_storage>\n<Channel>" + std::to_string(channels) + "</Channel><Row>" +
               std::to_string(rows) + "</Row><Col>" + std::to_string(columns) +
               "</Col>\n<MeanImg type_id=\"opencv-matrix\"><rows>1</rows><cols>4</cols><dt>f</dt><data>" + data +
               "</data></MeanImg>\n</opencv_storage>\n";
    };
    const std::string features = "channels=1 meanFile=" + Write("mean.xml", meanOf("1. 2. 3. 4.5", 1, 2, 2));
    EXPECT_THAT(ReadStream(*Open(features + " width=2 height=2"), MakeRequest(0, 1), 0),
                ElementsAre("frames 1; 49 48 47 45.5"));
    EXPECT_EQ(LogText(), "");
    EXPECT_THAT(ReadStream(*Open(features + " width=1 height=2"), MakeRequest(0, 1), 0),
                ElementsAre("frames 1; 50 50"));
    EXPECT_EQ(LogText(),
              "WARNING: the mean image of '" + Path("mean.xml") +
                  "' (width 2, height 2, channels 1) does not have the size of the images (1, 2, 1); it is not "
                  "subtracted\n");
    // More channels than OpenCV's images have.
    std::string many = meanOf("", 600, 1, 1), ones;
    for (int i = 0; i < 600; ++i)
        ones += "1. ";
    many.replace(many.find("<cols>4"), 7, "<cols>600").insert(many.find("<data>") + 6, ones);
    Write("mean.xml", many);
    EXPECT_THAT(ReadStream(*Open(features + " width=2 height=2"), MakeRequest(0, 1), 0),
                ElementsAre("frames 1; 50 50 50 50"));
    Write("mean.xml", meanOf("1. 2. .Nan 4.", 1, 2, 2));
    EXPECT_EQ(ErrorOf(features + " width=2 height=2"),
              "data: meanFile '" + Path("mean.xml") + "': MeanImg has a NaN or infinite element");
    Write("mean.xml", meanOf("1. 2. 3. 4.", 1, 2, 3));
    EXPECT_EQ(ErrorOf(features + " width=2 height=2"),
              "data: meanFile '" + Path("mean.xml") +
                  "': MeanImg has 4 elements, but Channel x Row x Col is 1 x 2 x 3");
    Write("mean.xml", "<?xml version=\"1.0\"?>\n<opencv_storage>\n<Row>2</Row>\n</opencv_storage>\n");
    EXPECT_EQ(ErrorOf(features + " width=2 height=2"),
              "data: meanFile '" + Path("mean.xml") + "' does not have all of MeanImg, Channel, Row and Col");
    Write("mean.xml",
          "<?xml version=\"1.0\"?>\n<opencv_storage>\n<MeanImg type_id=\"opencv-matrix\">\n<rows>60000</rows>\n"
          "<cols>60000</cols>\n<dt>d</dt>\n<data>1 2</data></MeanImg>\n</opencv_storage>\n");
    EXPECT_EQ(ErrorOf(features + " width=2 height=2"),
              "data: meanFile '" + Path("mean.xml") + "' is damaged: it promises 60000 x 60000 elements in 167 bytes");
    Write("mean.xml", std::string("<?xml verion=\0\0neorage>", 23));
    EXPECT_EQ(ErrorOf(features + " width=2 height=2"),
              "data: meanFile '" + Path("mean.xml") + "' cannot be read: it is no XML file of OpenCV");
    Write("mean.xml", "no XML");
    EXPECT_THAT(ErrorOf(features + " width=2 height=2"),
                testing::StartsWith("data: meanFile '" + Path("mean.xml") + "' cannot be read"));
    EXPECT_THAT(ErrorOf("width=2 height=2 channels=1 meanFile=" + Path("none.xml")),
                testing::StartsWith("data: meanFile '" + Path("none.xml") + "' does not exist"));
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1 meanFile=" + m_folder),
              "data: '" + m_folder + "' is a folder, expected a file");
}

TEST_F(ImageReaderTests, OrderAndSharesOfWorkers)
{
    WriteFourGrays(7);
    const std::string features = "width=2 height=2 channels=1";
    std::vector<size_t> sizes;
    EXPECT_EQ(FirstElements(ReadEpoch(*Open(features, "randomize=none"), MakeRequest(0, 3, 9), &sizes)),
              (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 0, 1}));
    EXPECT_EQ(sizes, (std::vector<size_t>{3, 3, 1, 2})); // a minibatch ends with the sweep
    const auto shuffled = Open(features);
    for (const size_t epoch : {0, 1, 5, 0})
    {
        std::vector<double> expected(7);
        std::iota(expected.begin(), expected.end(), 0.0);
        std::mt19937 generator{uint32_t(epoch)};
        std::shuffle(expected.begin(), expected.end(), generator);
        EXPECT_EQ(FirstElements(ReadEpoch(*shuffled, MakeRequest(epoch, 3))), expected);
        EpochRequest share = MakeRequest(epoch, 4);
        std::vector<double> together;
        share.workers = 2;
        for (share.rank = 0; share.rank < 2; ++share.rank)
        {
            const std::vector<double> part = FirstElements(ReadEpoch(*shuffled, share));
            together.insert(together.end(), part.begin(), part.end());
        }
        EXPECT_THAT(together, testing::UnorderedElementsAreArray(expected));
    }
}

TEST_F(ImageReaderTests, WritingKeepsTheOrderAndDotsAreTheListsFolder)
{
    WriteFourGrays();
    Write("map.txt", ".../gray2.pgm\t0\n" + Path("gray0.pgm") + "\t0\n");
    m_config = ConfigParameters::Parse(
        OnLines("reader=[ file=" + Path("map.txt") + "\nf=[ width=1 height=1 channels=1\n]\nl=[ labelDim=1\n]\n]"));
    ReaderContext context{m_config->RequireBlock("reader"), m_log};
    context.forWriting = true;
    EXPECT_EQ(FirstElements(ReadEpoch(*MakeImageReader<float>(context), MakeRequest(0, 4))),
              (std::vector<double>{2, 0}));
}

TEST_F(ImageReaderTests, ListsOfWindows)
{
    WriteFourGrays();
    std::filesystem::create_directory(Path("sub"));
    Plain("sub/gray.pgm", 3, 2, 7);
    Write("map.txt", "...\\sub\\gray.pgm\t 2 \tmore\r\n...\\gray1.pgm\t1\r\n");
    const std::vector<Sample> samples =
        ReadEpoch(*Open("width=1 height=1 channels=1", "randomize=none"), MakeRequest(0, 4));
    EXPECT_EQ(FirstElements(samples), (std::vector<double>{7, 1}));
    EXPECT_EQ(samples.at(0).labels, std::vector<double>{2});
}

TEST_F(ImageReaderTests, ATrainingSeedChangesOrderAndAugmentation)
{
    WriteFourGrays(30);
    EpochRequest request = MakeRequest(1, 8);
    const auto read = [&](const std::string& features, const std::string& reader, uint64_t seed)
    {
        request.trainingSeed = seed;
        return FirstElements(ReadEpoch(*Open(features, reader), request));
    };
    const std::string gray = "width=1 height=1 channels=1";
    const std::vector<double> original = read(gray, "", 0);
    const std::vector<double> seven = read(gray, "", 7);
    EXPECT_THAT(seven, testing::UnorderedElementsAreArray(original));
    EXPECT_NE(seven, original);
    EXPECT_NE(seven, read(gray, "", 8));
    EXPECT_EQ(seven, read(gray, "numCPUThreads=4", 7));
    EXPECT_EQ(read(gray, "randomize=none", 7), read(gray, "randomize=none", 0));
    const auto reader = Open(gray);
    for (const uint64_t seed : {7, 8, 0, 7})
    {
        request.trainingSeed = seed;
        EXPECT_EQ(FirstElements(ReadEpoch(*reader, request)), read(gray, "", seed)) << "an order was kept";
    }

    std::string list;
    const std::string name = Picture("p.ppm", 9, 9);
    for (size_t i = 0; i < 30; ++i)
        list += name + "\t0\n";
    Write("map.txt", list);
    const std::string crop = "width=3 height=3 channels=3 cropType=random cropRatio=0.5 hflip=true";
    const std::vector<double> crops = read(crop, "randomize=none", 7);
    EXPECT_EQ(crops, read(crop, "randomize=none numCPUThreads=3", 7));
    EXPECT_NE(crops, read(crop, "randomize=none", 8));
    EXPECT_NE(crops, read(crop, "randomize=none", 0));
    EXPECT_NE(crops, read(crop, "randomize=none seed=1", 7)) << "the reader's own seed counts, too";
}

TEST_F(ImageReaderTests, LabelsAloneNeedNoImage)
{
    Write("map.txt", "none.png\t2\n");
    EpochRequest request = MakeRequest(0, 4);
    request.wanted = {"L"};
    EXPECT_THAT(ReadStream(*Open("width=1 height=1 channels=1"), request, 1), ElementsAre("frames 1; 2:1"));
}

// The recorded archive: four files with an image of one colour each.
TEST_F(ImageReaderTests, ImagesInArchives)
{
    const std::string folder = Shared("data/image/images");
    if (!FileExists(folder + "/simple.zip"))
        GTEST_SKIP() << "the shared data do not exist";
    std::filesystem::copy_file(folder + "/simple.zip", Path("a.zip"));
    const std::string features = "width=4 height=8 channels=3";
    Write("map.txt", Path("a.zip") + "@/chunk0/black.jpg\t0\n" + Path("a.zip") + "@/chunk1/red.jpg\t1\n" +
                         Path("a.zip") + "@\\chunk0\\blue.jpg\t2\n");
    if (ErrorOf(features).find("built without libzip") != std::string::npos)
        GTEST_SKIP() << "built without libzip";
    const std::vector<Sample> zipped = ReadEpoch(*Open(features, "randomize=none"), MakeRequest(0, 2));
    Write("map.txt", folder + "/black.jpg\t0\n" + folder + "/red.jpg\t1\n" + folder + "/blue.jpg\t2\n");
    ASSERT_EQ(zipped.size(), 3u);
    EXPECT_EQ(zipped, ReadEpoch(*Open(features, "randomize=none"), MakeRequest(0, 2)));

    // Many threads, each with its own handle.
    std::string list;
    for (size_t i = 0; i < 200; ++i)
        list += Path("a.zip") + (i % 2 == 0 ? "@/chunk0/black.jpg" : "@/chunk1/red.jpg") + "\t" +
                std::to_string(i % 2) + "\n";
    Write("map.txt", list);
    const std::vector<Sample> many = ReadEpoch(*Open(features, "randomize=none numCPUThreads=4"), MakeRequest(0, 50));
    ASSERT_EQ(many.size(), 200u);
    for (size_t i = 0; i < many.size(); ++i)
        EXPECT_EQ(many[i], zipped[i % 2]);

    Write("map.txt", Path("a.zip") + "@/chunk0/blak.jpg\t0\n");
    EXPECT_THAT(ErrorOf(features), HasSubstr("map.txt:1: archive '" + Path("a.zip") +
                                             "' has no file 'chunk0/blak.jpg'; did you mean 'chunk0/black.jpg'"));
    Write("map.txt", Path("b.zip") + "@/chunk0/black.jpg\t0\n");
    EXPECT_THAT(ErrorOf(features), HasSubstr("archive '" + Path("b.zip") + "' does not exist; did you mean 'a.zip'"));
    Write("map.txt", m_folder + "@/chunk0/black.jpg\t0\n");
    EXPECT_EQ(ErrorOf(features), "data: " + Path("map.txt") + ":1: '" + m_folder + "' is a folder, expected a file");
    Write("map.txt", Path("b.zip") + "@/chunk0/black.jpg\t0\n");
    Write("b.zip", "this is no archive");
    EXPECT_THAT(ErrorOf(features), HasSubstr("archive '" + Path("b.zip") + "' cannot be opened: Not a zip archive"));
    std::string damaged(MappedFile(Path("a.zip")).Text());
    const size_t data = damaged.find("chunk0/black.jpg") + 40; // after the entry's own header
    std::fill_n(damaged.begin() + ptrdiff_t(data), 200, char(0x55));
    Write("b.zip", damaged);
    EXPECT_THAT(ErrorOf(features), HasSubstr("archive '" + Path("b.zip") + "': 'chunk0/black.jpg' cannot be read: "));
}

TEST_F(ImageReaderTests, ClassesByName)
{
    for (const char* const folder : {"images", "images/cat", "images/dog"})
        std::filesystem::create_directory(Path(folder));
    Plain("images/cat/a.pgm", 2, 2, 7);
    Plain("images/dog/b.pgm", 2, 2, 9);
    const std::string names = Write("names.txt", "dog\ncat\n");
    const std::string features = "width=2 height=2 channels=1";
    const auto classes = [&](const std::string& labels)
    {
        const auto reader = Open(features, "randomize=none", labels);
        std::vector<std::string> found;
        for (const Sample& sample : ReadEpoch(*reader, MakeRequest(0, 4)))
            found.push_back(reader->Streams()[1].labelNames[size_t(sample.labels[0])]);
        return found;
    };
    // A list names classes, or leaves them to the folder of the image.
    Write("map.txt", Path("images/cat/a.pgm") + "\tdog\n" + Path("images/cat/a.pgm") + "\n");
    EXPECT_EQ(classes("labelMappingFile=" + names), (std::vector<std::string>{"dog", "cat"}));
    Write("map.txt", Path("images/cat/a.pgm") + "\tcatt\n");
    EXPECT_EQ(ErrorOf(features, "", "labelMappingFile=" + names),
              "data: " + Path("map.txt") + ":1:" + std::to_string(Path("images/cat/a.pgm").size() + 2) +
                  ": label 'catt' is not in label map '" + names + "', which has 2 labels; did you mean 'cat'?");
    // A folder in place of the list; its classes are sorted, or those of the map.
    std::filesystem::remove(Path("map.txt"));
    std::filesystem::rename(Path("images"), Path("map.txt"));
    EXPECT_EQ(classes("labelDim=2"), (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(Open(features)->Streams()[1].rows, 3u);
    EXPECT_EQ(classes("labelMappingFile=" + names), (std::vector<std::string>{"cat", "dog"}));
    std::filesystem::create_directory(Path("map.txt/cow"));
    EXPECT_EQ(ErrorOf(features, "", "labelMappingFile=" + names),
              "data: " + Path("map.txt/cow") + ": label 'cow' is not in label map '" + names + "', which has 2 labels");
}

TEST_F(ImageReaderTests, BadLists)
{
    const std::string features = "width=2 height=2 channels=1";
    const std::string list = Path("map.txt");
    Write("map.txt", "a.png 1\n");
    EXPECT_EQ(ErrorOf(features),
              "data: " + list +
                  ":1:1: 'a.png 1' has no tab between two columns; expected the image's "
                  "file, a tab and its class, or labelMappingFile with the names of the images' folders");
    const std::string names = "; classes by name need labelMappingFile, a file with one name a line";
    Write("map.txt", "a.png\t0\nb.png\tcat\n");
    EXPECT_EQ(ErrorOf(features), "data: " + list + ":2:7: the class is 'cat'; expected a whole number from 0" + names);
    Write("map.txt", "a.png\t-1\n");
    EXPECT_EQ(ErrorOf(features), "data: " + list + ":1:7: the class is '-1'; expected a whole number from 0" + names);
    Write("map.txt", "a.png\t3\n");
    EXPECT_EQ(ErrorOf(features), "data: " + list + ":1:7: class 3 is not below labelDim=3");
    Write("map.txt", "a.png\t0\nb.png\t \r\n");
    EXPECT_EQ(ErrorOf(features), "data: " + list + ":2:7: the class is ''; expected a whole number from 0" + names);
    Write("map.txt", " \t0\n");
    EXPECT_EQ(ErrorOf(features),
              "data: " + list +
                  ":1:1: there is no file name before the tab; expected the image's file, a tab and its class");
    Write("map.txt", "\n \t\n");
    EXPECT_EQ(ErrorOf(features), "data: list of images '" + list + "' names no image");
}

TEST_F(ImageReaderTests, PromisesOfHugeImages)
{
    const std::string file = Write("huge.ppm", "P6\n30000 30000\n255\n???");
    Write("map.txt", file + "\t0\n");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1"),
              "data: " + Path("map.txt") + ":1: image '" + file +
                  "' is damaged: it promises 30000 x 30000 pixels; expected at most 44746576 pixels in 22 bytes");
}

TEST_F(ImageReaderTests, BadImages)
{
    const std::string list = Path("map.txt");
    const std::string picture = Plain("good.pgm", 2, 2, 1);
    Write("map.txt", picture + "\t0\n" + Path("none.png") + "\t0\n");
    EXPECT_THAT(ErrorOf("width=2 height=2 channels=1", "randomize=none"),
                testing::StartsWith("data: " + list + ":2: image '" + Path("none.png") + "' does not exist"));
    Write("map.txt", picture + "\t0\n" + Write("text.png", "no image at all") + "\t0\n");
    EXPECT_THAT(ErrorOf("width=2 height=2 channels=1", "randomize=none"),
                testing::StartsWith("data: " + list + ":2: image '" + Path("text.png") +
                                    "' cannot be decoded: it is damaged, or in a format that OpenCV does not read"));
    Write("map.txt", picture + "\t0\n" + Path("") + "\t0\n");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1", "randomize=none"),
              "data: " + list + ":2: '" + Path("") + "' is a folder, expected a file");
    Write("map.txt", picture + "\t0\n/dev/zero\t0\n");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1", "randomize=none"),
              "data: " + list + ":2: '/dev/zero' is a device, expected a file");
    Write("map.txt", picture + "\t0\n" + Write("empty.png", "") + "\t0\n");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1", "randomize=none"),
              "data: " + list + ":2: image '" + Path("empty.png") + "' is empty");
}

TEST_F(ImageReaderTests, WarnsOfAJpegFileWithoutItsEnd)
{
    const std::string whole = Shared("data/image/images/red.jpg");
    if (!FileExists(whole))
        GTEST_SKIP() << "the shared data do not exist";
    const std::string text(MappedFile(whole).Text());
    ASSERT_EQ(text.substr(text.size() - 2), "\xFF\xD9");
    // The segment contains an end marker, as that of a thumbnail does.
    const std::string inner = std::string("\xFF\xE1\x00\x06....\xFF\xD9", 8).replace(4, 4, "ab\xFF\xD9");
    const std::string withInner = text.substr(0, 2) + inner + "\xFF\xFF" + text.substr(2);
    Write("map.txt", Write("whole.jpg", text + "and more") + "\t0\n" + Write("inner.jpg", withInner) + "\t0\n" +
                         Write("cut.jpg", withInner.substr(0, withInner.size() - 3)) + "\t0\n");
    const std::string features = "width=4 height=4 channels=3";
    const std::vector<Sample> samples = ReadEpoch(*Open(features, "randomize=none"), MakeRequest(0, 2));
    ASSERT_EQ(samples.size(), 3u);
    EXPECT_EQ(samples[1], samples[0]);
    // The existing pixels are delivered: only the last byte is missing.
    const auto isNear = [](float value, float whole) { return std::abs(value - whole) < 8; };
    EXPECT_TRUE(
        std::equal(samples[2].features.begin(), samples[2].features.end(), samples[0].features.begin(), isNear));
    EXPECT_EQ(LogText(), "WARNING: " + Path("map.txt") + ":3: image '" + Path("cut.jpg") +
                             "' is damaged: the JPEG file has no end; the missing part is filled in\n");
}

// The decoder of this format accepts only unsigned bytes.
TEST_F(ImageReaderTests, WebP)
{
    const std::string_view brown(
        "RIFF\x1E\0\0\0WEBPVP8L\x11\0\0\0\x2F\x01\x40\0\0\x07\x50\x8A\x7A\x54\xA1\xFF\x81\x88\xE8\x7F\0\0", 38);
    Write("map.txt", Write("brown.webp", brown) + "\t0\n");
    EXPECT_THAT(ReadEpoch(*Open("width=2 height=2 channels=3"), MakeRequest(0, 1)).at(0).features,
                testing::ElementsAre(10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30, 30));
}

TEST_F(ImageReaderTests, BadParameters)
{
    WriteFourGrays();
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=2"), "config: channels=2; expected 1 (gray) or 3 (blue, green, red)");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=3", "grayscale=true"),
              "config: grayscale=true, but channels=3; gray images have 1 channel, others 3");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1 cropRatio=0.9:0.5"),
              "config: cropRatio is '0.9:0.5'; expected a number, or the smallest and the largest as in 0.5:0.9");
    EXPECT_THAT(ErrorOf("width=2 height=2 channels=1 cropRatio=0"), HasSubstr("expected a number > 0 and <= 1"));
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1 interpolations=linear:best"),
              "config: interpolations: there is no 'best'; expected one or several of nearest, linear, cubic, lanczos, "
              "separated by ':'");
    EXPECT_THAT(ErrorOf("width=2 height=2 channels=1 jitterType=uniarea"), HasSubstr("none"));
    EXPECT_EQ(ErrorOf("height=2 channels=1"),
              "config: the reader has no block of images; expected one such as features=[width=28; height=28; "
              "channels=1], named as the network's input");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1", "", "width=2"),
              "config: 'f' and 'l' both have 'width'; expected one block of images");
    EXPECT_EQ(ErrorOf("width=2 height=2 channels=1", "", "dim=2"),
              "config: the reader has no block of labels; expected one such as labels=[labelDim=10], named as the "
              "network's input");
}

} // namespace
} // namespace cntk
