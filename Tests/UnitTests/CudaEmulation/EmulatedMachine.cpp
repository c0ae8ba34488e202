// Parses the description of the machine.
#include "CudaEmulation/EmulatedMachine.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "CudaEmulation/CudaEmulation.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace cntk
{

namespace
{

EmulatedCard CardOf(std::string_view text)
{
    EmulatedCard card;
    for (const std::string_view item : Split(text, ','))
    {
        const size_t sign = item.find('=');
        const std::string key(item.substr(0, sign));
        const std::string value(sign == std::string_view::npos ? "" : item.substr(sign + 1));
        const auto number = [&] { return size_t(ParseInteger(value).value_or(0)); };
        if (key == "name")
            card.name = value;
        else if (key == "fault")
            card.fault = value;
        else if (key == "memory")
            card.megabytes = number();
        else if (key == "used")
            card.usedMegabytes = number();
        else if (key == "busy")
            card.busyPercent = unsigned(number());
        else if (key == "capability")
            card.capability = int(number());
        else
            Fail(ErrorKind::Internal, "an emulated GPU has no '", key, "'");
    }
    return card;
}

class BreakableBlas final : public GpuBlas
{
public:
    std::string Describe() const override { return m_blas->Describe(); }
    void Multiply(const GpuGemm& product, GpuStream stream) override
    {
        GpuGemm some = product;
        some.n -= CudaEmulation::IsBroken("Multiply") ? 1 : 0;
        if (some.n > 0)
            m_blas->Multiply(some, stream);
    }

private:
    std::unique_ptr<GpuBlas> m_blas = MakeEmulatedBlas();
};

} // namespace

EmulatedCards EmulatedCards::FromEnvironment()
{
    EmulatedCards machine;
    if (const char* const driver = std::getenv("CNTK_EMULATED_DRIVER"))
        machine.driver = std::atoi(driver);
    const char* const gpus = std::getenv("CNTK_EMULATED_GPUS");
    if (gpus == nullptr)
        machine.cards.emplace_back();
    else if (std::string(gpus) != "none")
        for (const std::string_view text : Split(gpus, ';'))
            machine.cards.push_back(CardOf(text));
    return machine;
}

std::string BusIdOf(int card)
{
    return Concat("00000000:", card + 10, ":00.0");
}

EmulatedMachine::EmulatedMachine() : m_machine(EmulatedCards::FromEnvironment()) {}

EmulatedMachine::~EmulatedMachine()
{
    CudaEmulation::BreakKernel("");
    if (const char* const path = std::getenv("CNTK_EMULATED_COUNTS"); path != nullptr && m_isUsed)
        std::ofstream(path, std::ios::app) << Counts().hostWaits << "\n";
}

GpuDriver EmulatedMachine::Driver()
{
    const int cards = int(m_machine.cards.size());
    return {m_machine.driver, 13000, cards, cards == 0 ? "no CUDA-capable device is detected" : ""};
}

GpuProperties EmulatedMachine::Properties(int device)
{
    const EmulatedCard& card = m_machine.cards[size_t(device)];
    const char* const locks = std::getenv("CNTK_EMULATED_LOCKS");
    return {card.name, card.capability / 10, card.capability % 10,
            16,        BusIdOf(device),      Concat("emulated-", locks != nullptr ? locks : "", "-", device)};
}

void EmulatedMachine::Use(int device)
{
    m_device = device;
    m_isUsed = true;
    CudaEmulation::BreakKernel(Card().fault);
}

void EmulatedMachine::MemoryInfo(size_t& freeBytes, size_t& totalBytes)
{
    EmulatedRuntime::MemoryInfo(freeBytes, totalBytes);
    const size_t used = totalBytes - freeBytes + (Card().usedMegabytes << 20);
    totalBytes = Card().megabytes << 20;
    freeBytes = totalBytes - std::min(totalBytes, used);
}

void* EmulatedMachine::Allocate(size_t bytes)
{
    size_t freeBytes = 0;
    size_t totalBytes = 0;
    MemoryInfo(freeBytes, totalBytes);
    return bytes > freeBytes ? nullptr : EmulatedRuntime::Allocate(bytes);
}

void EmulatedMachine::CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream)
{
    EmulatedRuntime::CopyToHost(host, source, CudaEmulation::IsBroken("CopyToHost") ? bytes - 1 : bytes, stream);
}

std::unique_ptr<GpuBlas> MakeBreakableBlas()
{
    return std::make_unique<BreakableBlas>();
}

} // namespace cntk
